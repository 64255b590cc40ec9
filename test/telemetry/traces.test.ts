import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { readTraceparent } from '../../src/http/traceparent.ts';
import { createKeyring } from '../../src/lib/keyring.ts';
import { sendTest } from '../../src/webhooks/deliveries.ts';
import { insertEndpoint } from '../../src/webhooks/endpoints.ts';
import { freePort } from '../support/ports.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { respondWithStatus, startWebhookReceiver } from '../support/webhook-receiver.ts';
import { readExposition } from './exposition.ts';

interface Attribute {
  key: string;
  value: { stringValue?: string; intValue?: number };
}

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Attribute[];
  status: { code?: number };
}

const collector = await startWebhookReceiver();
const OTEL_EXPORTER_OTLP_ENDPOINT = collector.url.replace('/hook', '');

/** The received requests. Each is validated against the protocol. */
function readSpans(): Span[] {
  return collector.received.flatMap(({ path, headers, event }) => {
    assert.equal(path, '/v1/traces');
    assert.equal(headers['content-type'], 'application/json');
    assert.deepEqual(Object.keys(event), ['resourceSpans']);
    return event.resourceSpans.flatMap(({ resource, scopeSpans }: ResourceSpans) => {
      assert.equal(read(resource.attributes)['service.name'], 'gatehouse');
      return scopeSpans.flatMap(({ scope, spans }) => {
        assert.equal(scope.name, 'gatehouse');
        for (const span of spans) assertSpan(span);
        return spans;
      });
    });
  });
}

/** Stops the server, which flushes its spans. */
async function stopUntil({ restart }: Pick<TestServer, 'restart'>, hasCome: (span: Span) => boolean): Promise<Span[]> {
  await restart();
  while (!readSpans().some(hasCome)) await setTimeout(20);
  return readSpans();
}

interface ResourceSpans {
  resource: { attributes: Attribute[] };
  scopeSpans: { scope: { name: string }; spans: Span[] }[];
}

function assertSpan(span: Span): void {
  assert.match(span.traceId, /^(?!0+$)[0-9a-f]{32}$/);
  assert.match(span.spanId, /^(?!0+$)[0-9a-f]{16}$/);
  if (span.parentSpanId !== undefined) assert.match(span.parentSpanId, /^[0-9a-f]{16}$/);
  assert.ok(span.name.length > 0);
  assert.ok([2, 3].includes(span.kind));
  const [start, end] = [BigInt(span.startTimeUnixNano), BigInt(span.endTimeUnixNano)];
  assert.ok(start <= end && end - start < 60_000_000_000n);
  assert.ok(Math.abs(Number(end / 1_000_000n) - Date.now()) < 600_000);
  for (const { value } of span.attributes) {
    const [[type = '', text] = []] = Object.entries(value);
    assert.ok(type === 'stringValue' || type === 'intValue');
    assert.equal(typeof text, type === 'intValue' ? 'number' : 'string');
  }
}

const read = (attributes: Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));

test('a request, its statements and its parent trace are exported to a collector, without values or secrets', async () => {
  const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT });
  const { access_token, refresh_token } = await server.connect();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  await server.get('/api/v1/businesses', {
    authorization: `Bearer ${access_token}`,
    traceparent: `00-${traceId}-b7ad6b7169203331-01`,
  });
  await server.get('/nothing?secret=hidden-in-an-address', { traceparent: `00-${'e'.repeat(32)}-b7ad6b7169203331-00` });

  const spans = await stopUntil(server, (span) => span.traceId === traceId && span.kind === 2);
  const ours = spans.filter((span) => span.traceId === traceId);
  const [request, ...others] = ours.filter(({ kind }) => kind === 2);
  const statements = ours.filter(({ kind }) => kind === 3);
  assert.ok(request);
  assert.deepEqual(others, []);
  assert.equal(request.name, 'GET /api/v1/businesses');
  assert.equal(request.parentSpanId, 'b7ad6b7169203331');
  assert.deepEqual(read(request.attributes), {
    'http.request.method': 'GET',
    'http.route': '/api/v1/businesses',
    'http.response.status_code': 200,
  });
  assert.ok(statements.length >= 1);
  for (const { parentSpanId, attributes, name } of statements) {
    assert.equal(parentSpanId, request.spanId);
    assert.equal(name, 'SELECT');
    assert.match(String(read(attributes)['db.query.text']), /^select .*\bfrom\b/);
  }
  const token = spans.find(({ name }) => name === 'POST /api/v1/oauth/token');
  assert.ok(spans.some(({ parentSpanId, kind }) => kind === 3 && parentSpanId === token?.spanId));
  assert.equal(
    spans.some((span) => span.traceId === 'e'.repeat(32)),
    false,
    'whoever began it does not follow it',
  );
  const exported = JSON.stringify(collector.received.map(({ body }) => body));
  for (const secret of [access_token, refresh_token, server.ledger.secret, server.ada.email, 'hidden-in-an-address']) {
    assert.equal(exported.includes(secret), false);
  }
});

test('a webhook span names the host, and a failure has the error status', async () => {
  const hook = await startWebhookReceiver(respondWithStatus(500));
  const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT, WEBHOOKS_TO_LOOPBACK: 'yes' });
  const keys = createKeyring(server.settings.secretKeys);
  const endpoint = { appId: server.ledger.id, url: hook.url, eventTypes: ['invoice.paid'] };
  await server.storage().transaction(async (db) => {
    const added = await insertEndpoint(db, keys, endpoint, server.clock());
    await sendTest(db, added.endpoint, server.clock());
  });
  await hook.waitFor(1);

  const isSent = ({ attributes }: Span) => read(attributes)['server.address'] === '127.0.0.1';
  const [sent] = (await stopUntil(server, isSent)).filter(isSent);
  assert.deepEqual(read(sent?.attributes ?? []), {
    'http.request.method': 'POST',
    'server.address': '127.0.0.1',
    'http.response.status_code': 500,
    'error.type': 'refused',
  });
  assert.deepEqual(sent?.status, { code: 2 });
});

test('an unreachable collector delays nothing, and dropped spans are counted', async () => {
  const port = await freePort();
  const nowhere = `http://127.0.0.1:${await freePort()}`;
  const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT: nowhere, METRICS_LISTEN: String(port) });
  const responses = await Promise.all(Array.from({ length: 20 }, () => server.get('/healthz')));

  const dropped = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const { series = [] } = readExposition(text).get('gatehouse_trace_spans_total') ?? {};
    return series.find(({ labels }) => labels.outcome === 'dropped')?.value ?? 0;
  };
  for (let tries = 0; tries < 2000 && (await dropped()) < 20; tries++) await setTimeout(50);

  assert.ok(responses.every(({ status }) => status === 200));
  assert.ok((await dropped()) >= 20);
});

test('a collector that never responds does not prevent the server from stopping', async () => {
  const silent = await startWebhookReceiver(() => {});
  const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT: silent.url.replace('/hook', '') });
  let isGivenUp = false;
  silent.respondWith((_, response) => response.once('close', () => (isGivenUp = true)));
  await server.get('/readyz');

  let wasGivenUp: boolean | undefined;
  // Before the next start: on a busy machine that takes longer than the export waits.
  const meanwhile = async () => {
    wasGivenUp = isGivenUp;
  };
  await server.restart({ settings: { traces: undefined }, meanwhile });

  assert.equal(wasGivenUp, false, 'the server stopped without waiting for it');
  await silent.waitFor(1);
});

test('traces that start here are sampled', async () => {
  const before = collector.received.length;
  const server = await startTestServer({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER_ARG: '0' });
  for (let i = 0; i < 5; i++) await server.get('/healthz');
  await server.get('/readyz', { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` });
  await stopUntil(server, ({ traceId }) => traceId === 'a'.repeat(32));

  const fresh = collector.received.slice(before).flatMap(({ event }) => event.resourceSpans[0].scopeSpans[0].spans);
  assert.ok(fresh.length >= 1);
  assert.deepEqual([...new Set(fresh.map(({ traceId }) => traceId))], ['a'.repeat(32)]);
});

test('an invalid traceparent is ignored', () => {
  const [trace, span] = ['a'.repeat(32), 'b'.repeat(16)];

  assert.deepEqual(readTraceparent(`00-${trace}-${span}-01`), { traceId: trace, spanId: span, traceFlags: 1 });
  assert.equal(readTraceparent(`00-${trace}-${span}-00`)?.traceFlags, 0);
  assert.equal(readTraceparent(`cc-${trace}-${span}-01-what-comes-later`)?.traceFlags, 1);
  for (const unsound of [
    undefined,
    '',
    `00-${trace}-${span}-01-more`,
    `ff-${trace}-${span}-01`,
    `00-${'0'.repeat(32)}-${span}-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `00-${trace.toUpperCase()}-${span}-01`,
    `00-${trace}-${span}-1`,
    `00-${trace}-${span}-01\n`,
    [`00-${trace}-${span}-01`, `00-${trace}-${span}-01`],
  ]) {
    assert.equal(readTraceparent(unsound), undefined, String(unsound));
  }
});
