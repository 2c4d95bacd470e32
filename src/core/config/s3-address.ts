import { ConfigError, type EnvReader } from './env-reader.js';

/** Where a bucket is, and with which key it is opened. Contains secrets: never log it. */
export interface S3Address {
  /** The URL of the bucket: of the server, followed by the bucket's name. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Reads `https://<key id>:<secret>@<server>/<bucket>?region=<region>`, in which the secret is percent-encoded.
 * @throws ConfigError
 */
export function readS3Address(read: EnvReader, variable: string): S3Address | undefined {
  const url = read.url(variable, ['http:', 'https:']);
  if (url === undefined) return undefined;
  const { origin, pathname, username, password, searchParams } = new URL(url);
  const bucket = pathname.replace(/\/$/, '');
  const [accessKeyId, secretAccessKey] = [decoded(username), decoded(password)];
  if (!accessKeyId || !secretAccessKey || !/^\/[\w.-]+$/.test(bucket)) {
    throw new ConfigError(`${variable} must be https://<key id>:<secret>@<server>/<bucket>?region=<region>.`);
  }
  return {
    endpoint: origin + bucket,
    region: searchParams.get('region') ?? 'auto',
    accessKeyId,
    secretAccessKey,
  };
}

/** Undefined if the text is not percent-encoded. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
