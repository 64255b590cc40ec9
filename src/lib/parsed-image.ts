/** The parts of a file that are needed to show it. */
export interface ParsedImage {
  width: number;
  height: number;
  /** The file without anything else. Only called if the dimensions are acceptable. */
  encode(): Promise<Uint8Array>;
}

/** The message is a sentence for the person who chose the file. */
export class InvalidImage extends Error {}

export function damaged(problem: string): InvalidImage {
  return new InvalidImage(`The file is damaged: ${problem}. Export it again.`);
}

/** A second file after the image, such as an archive or a script. */
export function trailingData(): InvalidImage {
  return new InvalidImage('The file contains something else after the image. Export it again.');
}
