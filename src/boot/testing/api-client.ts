import { fetch } from 'undici';

/** A response of the service. */
export interface ApiResponse<T = unknown> {
  status: number;
  headers: Record<string, string>;
  /** Parsed, if it is JSON. */
  body: T;
}

/** The service answered with a status other than the expected one. */
export class UnexpectedStatusError extends Error {
  override readonly name = 'UnexpectedStatusError';

  constructor(
    request: string,
    readonly response: ApiResponse,
  ) {
    super(`${request} answered ${response.status}: ${JSON.stringify(response.body)}`);
  }

  /** The stable error code of a problem document, such as `permission_denied`. */
  get code(): string | undefined {
    return (this.response.body as { code?: string } | undefined)?.code;
  }
}

/** A caller of the service: an organization and one of its API keys. */
export class ApiClient {
  constructor(
    readonly url: string,
    readonly org: string,
    readonly apiKey: string,
  ) {}

  /** Sends a request to `/api/:org/<path>`; resolves for any status. A body makes the request a POST. */
  async send<T = unknown>(path: string, body?: object, headers: Record<string, string> = {}): Promise<ApiResponse<T>> {
    const response = await fetch(`${this.url}/api/${this.org}/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${this.apiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: (isJson && text !== '' ? JSON.parse(text) : text) as T,
    };
  }

  /**
   * Calls a management tool and returns its output.
   * @throws UnexpectedStatusError unless the status is 200
   */
  async tool<T = unknown>(name: string, input: object = {}): Promise<T> {
    const response = await this.send<T>(`tools/${name}`, input);
    if (response.status !== 200) throw new UnexpectedStatusError(name, response);
    return response.body;
  }
}
