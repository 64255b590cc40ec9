import { type Html, html } from '../lib/html.ts';
import { passkeyScriptPath } from './assets.ts';
import { type Problem, problemText } from './forms.ts';

interface PasskeyBox {
  /** What the browser is to do with a passkey. */
  act: 'create' | 'get';
  /** Our script asks at its address, followed by `/options`, and sends it with what the authenticator answered. */
  form: Html;
  problem?: Problem | undefined;
}

/** Hidden until our script finds that this browser knows passkeys. */
export function passkeyBox({ act, form, problem }: PasskeyBox): Html {
  const wrong = problem?.field === 'passkey' && problem;
  return html`<div class="passkey" data-passkey="${act}" hidden>
${form}
<p class="problem" role="alert"></p>
</div>
${wrong && problemText(wrong)}
<script type="module" src="${passkeyScriptPath}"></script>`;
}
