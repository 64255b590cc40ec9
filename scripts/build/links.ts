import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { ROOT } from './metafile.ts';

/** In Markdown, and in the tags of pictures. */
const TARGET = /(?<=\]\(|\s(?:src|srcset|href)=")[^)\s"#:]+(?=[#)"])/g;

interface Repository {
  url: string;
  tag: string;
}

/** Changes the links of a packaged page to files that the package lacks: they lead to the repository. */
export function linkToRepository(packageFolder: string, file: string, { url, tag }: Repository): void {
  const page = join(packageFolder, file);
  const text = readFileSync(page, 'utf8').replaceAll(TARGET, (target) => {
    const path = posix.join(posix.dirname(file), target);
    const isMissing = existsSync(join(ROOT, path)) && !existsSync(join(packageFolder, path));
    if (!isMissing) return target;
    return `${url}/${/\.(?:png|webp)$/.test(path) ? 'raw' : 'blob'}/${tag}/${path}`;
  });
  writeFileSync(page, text);
}
