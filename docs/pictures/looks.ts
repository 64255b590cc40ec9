/** The themes and widths in which pages are photographed and measured. */
export const LOOKS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [
    { size: 'desktop' as const, viewport: { width: 1280, height: 800 } },
    { size: 'phone' as const, viewport: { width: 360, height: 780 } },
  ].map((size) => ({ colorScheme, ...size })),
);

export function lookName({ size, colorScheme }: { size: string; colorScheme: string }): string {
  return `${size}-${colorScheme}`;
}
