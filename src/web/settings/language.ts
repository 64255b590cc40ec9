import type { FastifyInstance } from 'fastify';
import { setLanguage } from '../../accounts/users.ts';
import { type Html, html } from '../../lib/html.ts';
import { access } from '../access.ts';
import { settings } from '../components/structure.ts';
import type { WebDeps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { redirectWithFlash } from '../flash.ts';
import { type Form, postForm, text } from '../forms.ts';
import type { PageContext } from '../layout.ts';
import { requireSession } from '../session.ts';

const PATH = '/settings/account/language';

export function mountLanguage(host: FastifyInstance, { storage, languages }: WebDeps): void {
  host.post<{ Body: Form }>(PATH, access('signed_in'), async (request, reply) => {
    const chosen = text(request.body, 'language');
    if (chosen !== '' && !languages.some(({ tag }) => tag === chosen)) throw notFound();
    await setLanguage(storage.durable, requireSession(request).user.id, chosen || null);
    return redirectWithFlash(reply, '/settings/account', 'saved');
  });
}

/** On the account page. */
export function languageSection({ languages }: WebDeps, { user, csrf }: PageContext): Html {
  const options = languages.map(
    ({ tag, name }) =>
      html`<option value="${tag}" lang="${tag}" ${tag === user.language && html`selected`}>${name}</option>`,
  );
  const body = postForm({
    action: PATH,
    csrf,
    body: html`<div class="field"><label for="language">Language</label>
<select id="language" name="language"><option value="">Same as my browser</option>${options}</select></div>
<button class="secondary">Change language</button>`,
  });
  const intro = 'For emails, and for the pages where you sign in and allow apps. Settings pages are in English.';
  return settings({ title: 'Language', id: 'language-section', intro, body });
}
