import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import { parseResource } from './oauth-resources.js';
import { recordId, type OauthRecordsRepository } from './records/oauth-records.repository.js';

/** How many clients one network can register, and how many sign-ins it can begin, within an hour. */
export const MAX_PER_HOUR = { Client: 100, Interaction: 1_000 } as const;

/** What the library answers to a registration beyond the limit. */
class TooManyRegistrations extends errors.CustomOIDCProviderError {
  override readonly status = 429;
  override readonly statusCode = 429;

  constructor() {
    super('too_many_requests', TOO_MANY_REGISTRATIONS);
  }
}

export const TOO_MANY_REGISTRATIONS = 'Too many clients were registered from this address.';

/** Stores one model of oidc-provider in PostgreSQL, so that any process can answer any step. */
export class OauthAdapter implements Adapter {
  /**
   * @param model of oidc-provider, such as `AccessToken`
   * @param sourceOf the network (`networkOf`) that sent the request under way; undefined for a request that a page
   *   handles
   */
  constructor(
    private readonly model: string,
    private readonly records: OauthRecordsRepository,
    private readonly sourceOf: () => string | undefined,
  ) {}

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    if (this.model === 'Client') return this.register(id, payload);
    if (this.model === 'ReplayDetection') return this.useAssertion(id, expiresIn ?? 0);
    const source = this.model === 'Interaction' ? this.sourceOf() : undefined;
    const resource = this.model === 'ClientCredentials' ? resourcePathOf(payload) : undefined;
    await this.records.upsert(this.model, id, payload, { expiresIn, clientId: payload.clientId, source, resource });
  }

  /** A grant ends with the membership of its person, whatever is left of it here. */
  async find(id: string): Promise<AdapterPayload | undefined> {
    if (this.model === 'ReplayDetection') return undefined;
    if (this.model === 'Grant' && !(await this.records.hasGrant(recordId('Grant', id)))) return undefined;
    return this.records.find(this.model, id);
  }

  /** Only sessions have a uid, and they are not stored (`useBrowserSessions`). */
  findByUid(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Device codes are not offered. */
  findByUserCode(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /**
   * Of two requests with the same code or refresh token only one continues. The other revokes what both were issued for
   * (RFC 6749 §4.1.2, RFC 9700 §4.14.2).
   */
  async consume(id: string): Promise<void> {
    if (await this.records.consume(this.model, id)) return;
    const grantId = (await this.records.find(this.model, id))?.grantId;
    if (grantId !== undefined) await this.records.deleteGrant(recordId('Grant', grantId));
    throw new errors.InvalidGrant('already used');
  }

  async destroy(id: string): Promise<void> {
    if (this.model === 'Grant') await this.records.deleteGrant(recordId('Grant', id));
    else await this.records.delete(this.model, id);
  }

  /** The library looks first and stores afterwards; of two processes that do so at once only one continues. */
  private async useAssertion(id: string, expiresIn: number): Promise<void> {
    if (await this.records.useOnce(id, expiresIn)) return;
    throw new errors.InvalidClientAuth('client assertion tokens must only be used once');
  }

  private async register(clientId: string, payload: AdapterPayload): Promise<void> {
    if (payload.grant_types?.includes('client_credentials') === true)
      throw new errors.InvalidClientMetadata('clients that act for themselves are set up by hand');
    const limit = { source: this.sourceOf() ?? '', max: MAX_PER_HOUR.Client };
    if (!(await this.records.register(clientId, payload, limit))) throw new TooManyRegistrations();
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.records.deleteOfGrant(this.model, recordId('Grant', grantId));
  }
}

/** The path of the resource that a token of a client is for, which the provider has checked. */
function resourcePathOf({ aud }: AdapterPayload): string | undefined {
  const indicator = String(aud);
  return parseResource(indicator, new URL(indicator).origin)?.path;
}
