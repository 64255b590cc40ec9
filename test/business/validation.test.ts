import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodySchema, createValidator, type FieldProblem } from '../../src/business/validation.ts';
import { ApiError } from '../../src/http/errors.ts';
import { RESOURCES } from '../../src/resources/all.ts';

const invoice = RESOURCES.find(({ name }) => name === 'invoice') ?? assert.fail();
const validate = createValidator(bodySchema(invoice.fields, { example: {} }));
const LINE = { description: 'Paper', quantity: '1', unitPrice: '10.00' };
const unknownFields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, 1]));

function errorOf(body: unknown): { message: string; errors: FieldProblem[] } {
  try {
    validate(body);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    return { message: error.message, errors: error.details.errors as FieldProblem[] };
  }
  return assert.fail('The body is accepted.');
}

const fieldsOf = ({ errors }: { errors: FieldProblem[] }) => errors.map(({ field }) => field);

test('a body with 20 wrong fields gets an error for each, in their order', () => {
  const { message, errors } = errorOf({ ...unknownFields(17), lines: [{ ...LINE, quantity: 'x' }] });

  assert.equal(errors.length, 20);
  assert.deepEqual(errors.slice(0, 3), [
    { field: 'currency', message: 'is missing' },
    { field: 'customerId', message: 'is missing' },
    { field: 'a0', message: 'is not a field that can be sent here' },
  ]);
  assert.equal(errors.at(-1)?.field, 'lines[0].quantity');
  assert.ok(!message.includes('first 20'));
});

test('a body with thousands of wrong fields gets the first 20 errors, and says that there are more', () => {
  const bodies = [
    unknownFields(5000),
    { lines: Array(20_000).fill({}) },
    { lines: Array(20_000).fill(1) },
    { lines: [unknownFields(5000)] },
    { lines: Array(2000).fill({ a: 1, b: 1 }) },
  ];

  for (const body of bodies) {
    const { message, errors } = errorOf(body);
    assert.equal(errors.length, 20);
    assert.match(message, /These are the first 20 errors\.$/);
  }
  assert.deepEqual(fieldsOf(errorOf(bodies[0])).slice(2, 5), ['lines', 'a0', 'a1']);
});

test('of a list that is too long, no more than one further item is examined', () => {
  let examined = 0;
  const line = {
    ...LINE,
    get quantity() {
      examined += 1;
      return '1';
    },
  };

  const errors = fieldsOf(errorOf({ currency: 'GBP', customerId: invoice.name, lines: Array(1200).fill(line) }));

  assert.deepEqual(errors, ['customerId', 'lines']);
  assert.ok(examined < 1200, String(examined));
});
