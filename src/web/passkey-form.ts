import { type Html, html } from '../lib/html.ts';
import { passkeyScriptPath } from './assets.ts';
import { type Problem, problemText } from './forms.ts';

interface PasskeyForm {
  /** The method of `navigator.credentials` that the script calls. */
  method: 'create' | 'get';
  /** The script fetches options from the action of the form with `/options` added, then submits it with the credential. */
  form: Html;
  problem?: Problem | undefined;
}

/** Hidden until the script finds that the browser supports passkeys. */
export function passkeyForm({ method, form, problem }: PasskeyForm): Html {
  return html`<div class="passkey" data-passkey="${method}" hidden>
${form}
<p class="problem" role="alert"></p>
</div>
${problem?.field === 'passkey' && problemText(problem)}
<script type="module" src="${passkeyScriptPath}"></script>`;
}
