/** Few sizes, so that the database caches few statements. */
const SIZES = [64, 16, 4, 1];

export function inChunks<Row>(rows: Row[]): Row[][] {
  const chunks: Row[][] = [];
  for (let place = 0; place < rows.length; ) {
    const size = SIZES.find((each) => each <= rows.length - place) ?? 1;
    chunks.push(rows.slice(place, place + size));
    place += size;
  }
  return chunks;
}
