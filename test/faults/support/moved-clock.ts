// Preloaded into a server: lets a test move its clock, as an operator or a time server would.
import { readFileSync } from 'node:fs';

const real = Date.now;
let shift = 0;
Date.now = () => real() + shift;

process.on('SIGUSR2', () => {
  shift = Number(readFileSync(process.env.CLOCK_SHIFT_FILE ?? '', 'utf8'));
  process.stderr.write(`moved by ${shift}\n`);
});
