/** A seeded random generator: request n of a seed is always the same. */
export type Random = ReturnType<typeof newRandom>;

export function newRandom(seed: number, number: number) {
  let state = mix(mix(seed >>> 0) ^ (number >>> 0));
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state);
  };
  const below = (limit: number) => next() % limit;
  const chance = (share: number) => next() < share * 2 ** 32;
  function pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error('There is nothing to pick from.');
    return items[below(items.length)] as Item;
  }
  return { below, chance, pick };
}

/** A hash function with good avalanche. */
function mix(number: number): number {
  let mixed = number >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
