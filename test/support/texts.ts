import fc from 'fast-check';

/** Every character except half of a surrogate pair, which is no character alone. */
const character = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));

/** Any text. With these characters as its unit, `fc.string` would first list all 1.1 million of them. */
export function anyText({ maxLength }: { maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.array(character, maxLength === undefined ? {} : { maxLength }).map((characters) => characters.join(''));
}
