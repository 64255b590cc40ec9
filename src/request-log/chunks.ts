/** Only these, so that a database has a handful of statements to remember, and not one for every number of rows. */
const SIZES = [64, 16, 4, 1];

/** Rows in their order, in as many as fit into one statement. */
export function inChunks<Row>(rows: Row[]): Row[][] {
  const chunks: Row[][] = [];
  for (let place = 0; place < rows.length; ) {
    const size = SIZES.find((each) => each <= rows.length - place) ?? 1;
    chunks.push(rows.slice(place, place + size));
    place += size;
  }
  return chunks;
}
