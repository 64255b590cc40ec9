/** A bar chart. */
export interface Chart {
  title: string;
  /** Of the values. */
  unit: string;
  bars: { label: string; value: number; text: string; isOurs: boolean }[];
}

const [WIDTH, LABELS, BAR, GAP, TOP] = [760, 230, 26, 10, 64];
const VALUES = 110;

/** Follows the color scheme of the reader. */
const STYLE = `
  text { font-family: system-ui, sans-serif; font-size: 14px; fill: #1f2328; }
  .title { font-size: 17px; font-weight: 600; }
  .unit { fill: #59636e; font-size: 13px; }
  .page { fill: #ffffff; }
  .ours { fill: #0a6b4f; }
  .theirs { fill: #9aa4af; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .unit { fill: #9198a1; }
    .page { fill: #0d1117; }
    .ours { fill: #3fb68b; }
    .theirs { fill: #565f69; }
  }`;

export function drawChart({ title, unit, bars }: Chart): string {
  const most = Math.max(...bars.map(({ value }) => value), 1e-9);
  const height = TOP + bars.length * (BAR + GAP) + GAP;
  const lines = bars.map(({ label, value, text, isOurs }, index) => {
    const y = TOP + index * (BAR + GAP);
    const length = Math.max(2, Math.round((value / most) * (WIDTH - LABELS - VALUES)));
    return `  <text x="${LABELS - 12}" y="${y + 18}" text-anchor="end">${inXml(label)}</text>
  <rect class="${isOurs ? 'ours' : 'theirs'}" x="${LABELS}" y="${y}" width="${length}" height="${BAR}" rx="3"/>
  <text x="${LABELS + length + 8}" y="${y + 18}">${inXml(text)}</text>`;
  });
  const description = bars.map(({ label, text }) => `${label}: ${text}`).join('; ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${inXml(`${title}, ${unit}. ${description}.`)}">
  <style>${STYLE}
  </style>
  <rect class="page" width="${WIDTH}" height="${height}" rx="6"/>
  <text class="title" x="16" y="28">${inXml(title)}</text>
  <text class="unit" x="16" y="48">${inXml(unit)}</text>
${lines.join('\n')}
</svg>
`;
}

function inXml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
