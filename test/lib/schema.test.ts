import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type as TypeBox } from 'typebox';
import { Type } from '../../src/lib/schema.ts';

function drawWith(type: typeof Type) {
  const fields = {
    names: type.Array(type.String(), { description: 'Some.' }),
    isSound: type.Boolean({ description: 'Whether.' }),
    kind: type.Optional(type.Enum(['one', 'other'], { type: 'string' })),
    count: type.Optional(type.Integer({ minimum: 1, default: 3 })),
    version: type.Literal('v1', { description: 'Always.' }),
    note: type.Optional(type.String({ format: 'uuid' })),
    data: type.Unsafe<object>({ type: 'object', additionalProperties: true }),
  };
  return [
    type.Object(fields, { $id: 'All', additionalProperties: type.String() }),
    type.Object({ note: fields.note }),
    type.Object({}, { description: 'Nothing.' }),
  ];
}

test('a schema is what TypeBox, whose types it has, would make of it', () => {
  const made = drawWith(Type).map((schema) => JSON.parse(JSON.stringify(schema)));

  assert.deepEqual(
    made,
    drawWith(TypeBox).map((schema) => JSON.parse(JSON.stringify(schema))),
  );
  assert.deepEqual(made[0].required, ['names', 'isSound', 'version', 'data']);
});
