import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { html, toText } from '../../src/lib/html.ts';
import { anyText } from '../support/texts.ts';

test('the five special characters of HTML are escaped everywhere [S17]', () => {
  const shown = toText(html`<p title="${`"'&<>`}">${'<script>&amp;</script>'}</p>`);

  assert.equal(shown, '<p title="&quot;&#39;&amp;&lt;&gt;">&lt;script&gt;&amp;amp;&lt;/script&gt;</p>');
});

test('no text can break out of its element or attribute [S17]', () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const shown = toText(html`${text}`);
      assert.doesNotMatch(shown, /[<>"']/);
      assert.doesNotMatch(shown, /&(?!(amp|lt|gt|quot|#39);)/);
    }),
  );
});

test('markup from the tag is not escaped again, alone or in lists', () => {
  const items = ['a', '<b>'].map((name) => html`<li>${name}</li>`);

  assert.equal(toText(html`<ul>${items}</ul>`), '<ul><li>a</li><li>&lt;b&gt;</li></ul>');
  assert.equal(toText(html`${['<', html`<br>`, 1]}`), '&lt;<br>1');
});

test('undefined, null and false render nothing, and zero renders', () => {
  assert.equal(toText(html`[${null}${undefined}${false}${''}${0}]`), '[0]');
});

test('an object that only looks like markup is escaped [S17]', () => {
  const forged = JSON.parse('{"markup":"<script>","Symbol(markup)":"<script>"}');

  assert.doesNotMatch(toText(html`${forged}`), /<script>/);
});
