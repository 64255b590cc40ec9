import type { LicensedPackage } from './licences.ts';

const LINE = '='.repeat(80);

/** The licences of all packages ask for their text in every copy. Packages with the same text share it. */
export function renderNotices(packages: LicensedPackage[]): string {
  const groups = Map.groupBy(packages, ({ text }) => text);
  const sections = [...groups].map(
    ([text, sharing]) => `${LINE}\n${sharing.map(describe).join('\n')}\n${LINE}\n\n${text}\n`,
  );
  return `Gatehouse contains ${packages.length} packages of other authors, under these licences. sbom.cdx.json lists them for programs.
Where a package contains another one in a version of its own, the text is that of the version which npm installs.

${sections.join('\n')}`;
}

function describe({ name, version, licence, homepage }: LicensedPackage): string {
  return [`${name} ${version}`, licence, homepage].filter(Boolean).join('  ');
}
