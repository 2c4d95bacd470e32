import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The upstreams that the benchmarks compare. `file` and `args` start the server, `tls` gives it a certificate, and
 * `json` names the kind on the same transport that answers with JSON, which an event stream is compared with.
 */
export const UPSTREAM_KINDS = {
  minimal: { title: 'minimal server, JSON', file: 'proxy-upstream.mjs', args: () => [] },
  json: { title: 'SDK, JSON', file: 'sdk-upstream.mjs', args: (tools) => ['json', tools] },
  stream: { title: 'SDK, stream, session', file: 'sdk-upstream.mjs', args: (tools) => ['stream', tools], json: 'json' },
  stateless: {
    title: 'SDK, stream, no session',
    file: 'sdk-upstream.mjs',
    args: (tools) => ['stateless', tools],
    json: 'json',
  },
  'json-tls': { title: 'SDK, TLS, JSON', file: 'sdk-upstream.mjs', args: (tools) => ['json', tools], tls: true },
  'stream-tls': {
    title: 'SDK, TLS, stream, session',
    file: 'sdk-upstream.mjs',
    args: (tools) => ['stream', tools],
    tls: true,
    json: 'json-tls',
  },
};

/**
 * The kinds of a comma-separated list; `sdk` means all on the official SDK, `all` means all.
 * @throws Error for an unknown kind
 */
export function kindsOf(list) {
  const names = list.split(',').flatMap((name) => {
    if (name === 'all') return Object.keys(UPSTREAM_KINDS);
    if (name === 'sdk') return Object.keys(UPSTREAM_KINDS).filter((kind) => kind !== 'minimal');
    if (UPSTREAM_KINDS[name] === undefined) {
      throw new Error(`Unknown upstream ${name}. Known: ${Object.keys(UPSTREAM_KINDS).join(', ')}, sdk, all.`);
    }
    return [name];
  });
  return [...new Set(names)];
}

/**
 * Makes a certificate for 127.0.0.1 with openssl.
 * @returns {{ certificate: string, key: string }} the paths of PEM files
 */
export function makeCertificate(folder) {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const { status, error, stderr } = spawnSync(
    'openssl',
    [...args, '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`openssl could not make a certificate: ${error?.message ?? stderr}`);
  chmodSync(certificate, 0o644);
  return { certificate, key };
}
