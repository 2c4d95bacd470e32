import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { ReceivedRequest } from '../../../src/boot/testing/model-server.js';

/** An access key of AWS, and where it is used. */
export interface AwsAccess {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/bedrock\/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/;
const MAX_AGE_MS = 5 * 60_000;

/**
 * Whether a request to Bedrock is signed with this key, as AWS verifies it: by a canonical request that is computed
 * from the request as it arrived.
 * Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function isSigned({ method, path, headers, text }: ReceivedRequest, access: AwsAccess): boolean {
  const found = AUTHORIZATION.exec(headers.authorization ?? '');
  if (found === null) return false;
  const [, keyId, day = '', region, names = '', signature = ''] = found;
  const time = String(headers['x-amz-date']);
  if (keyId !== access.accessKeyId || region !== access.region || !time.startsWith(day) || !isRecent(time))
    return false;
  if (headers['x-amz-security-token'] !== access.sessionToken) return false;
  const signed = names.split(';');
  const required = ['host', 'x-amz-date', ...(access.sessionToken === undefined ? [] : ['x-amz-security-token'])];
  if (!required.every((name) => signed.includes(name))) return false;

  const canonicalPath = path
    .split('/')
    .map((segment) => encodeURIComponent(segment).replace(/[!'()*]/g, percentEncoded))
    .join('/');
  const canonicalHeaders = signed.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}\n`);
  const canonical = [method, canonicalPath, '', canonicalHeaders.join(''), names, sha256(text)].join('\n');
  const scope = `${day}/${region}/bedrock/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, region, 'bedrock', 'aws4_request'].reduce<Buffer>(
    (previous, part) => hmac(previous, part),
    Buffer.from(`AWS4${access.secretAccessKey}`),
  );
  return timingSafeEqual(hmac(key, toSign), Buffer.from(signature, 'hex'));
}

function isRecent(time: string): boolean {
  const iso = time.replace(/^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/, '$1-$2-$3T$4:$5:$6Z');
  return Math.abs(Date.parse(iso) - Date.now()) < MAX_AGE_MS;
}

function percentEncoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
