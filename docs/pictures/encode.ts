import { writeFile } from 'node:fs/promises';
import sharp from 'sharp';

export interface Frame {
  png: Buffer;
  /** How long it is shown, in milliseconds. */
  delay: number;
}

/** Lossless: text stays sharp, and each frame stores only what differs from the one before. */
export async function writeFilm(path: string, frames: Frame[]): Promise<void> {
  const film = sharp(
    frames.map(({ png }) => png),
    { join: { animated: true } },
  );
  await film
    .webp({ lossless: true, effort: 6, minSize: true, loop: 0, delay: frames.map(({ delay }) => delay) })
    .toFile(path);
}

/** Pages have few colours: a palette makes the file smaller, and no difference to see. */
export async function writePicture(path: string, png: Buffer): Promise<void> {
  await writeFile(path, await sharp(png).png({ palette: true, quality: 100, dither: 0, effort: 10 }).toBuffer());
}
