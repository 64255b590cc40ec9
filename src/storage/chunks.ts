/** Few sizes, so that few different statements are prepared. */
const SIZES = [64, 16, 4, 1];

export function inChunks<Row>(rows: Row[]): Row[][] {
  const chunks: Row[][] = [];
  for (let start = 0; start < rows.length; ) {
    const size = SIZES.find((size) => size <= rows.length - start) ?? 1;
    chunks.push(rows.slice(start, start + size));
    start += size;
  }
  return chunks;
}
