import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENTS, type EventDeclaration, guardOf } from '../../../src/events/event-types.ts';

test('an event type without a declared audience does not compile', () => {
  // @ts-expect-error: `guard` is missing.
  const unguarded: EventDeclaration = { summary: 'Something happened', data: {}, example: {} };

  assert.equal('guard' in unguarded, false);
});

test('every declared event type has a guard, and no other type has one', () => {
  assert.ok(Object.keys(EVENTS).every((type) => guardOf(type) !== undefined));
  assert.equal(guardOf('invoice.burned'), undefined);
});
