import { Injectable } from '@nestjs/common';
import { databaseDate, databaseNow } from '../../core/database-time.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import type { HeldAnswer } from '../../core/answers/answer-budget.js';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { ListInput } from '../../core/paging/list-input.js';
import type { Principal } from '../../core/principal.js';
import { AddressPolicy, AddressRefusedError } from '../../platform/net/address-policy.js';
import { VaultService } from '../../platform/vault/vault.service.js';
import { resealAsPrevious, sealWebhookSecret, WebhookSender, newWebhookSecret } from './webhook-sender.js';
import type { WebhookChange, WebhookData, WebhookItem, WebhookPage, WebhookTested } from './webhook.dto.js';
import type { WebhookEntity } from './webhook.entity.js';
import { type WebhookColumns, WebhookRepository } from './webhook.repository.js';

/** How long the previous secret still signs after a rotation. */
const BOTH_SECRETS_MS = 86_400_000;

/** Creates, reads, updates, deletes and tests webhooks. */
@Injectable()
export class WebhookService {
  constructor(
    private readonly repository: WebhookRepository,
    private readonly agents: AgentsService,
    private readonly policy: AddressPolicy,
    private readonly vault: VaultService,
    private readonly sender: WebhookSender,
  ) {}

  /** @throws DomainError `address_refused`, `invalid_request` for an unknown agent, `limit_reached` */
  async create(data: WebhookData, caller: Principal): Promise<{ item: WebhookItem; secret: string }> {
    const organizationId = caller.organization.id;
    const url = this.checkedUrl(data.url);
    const agentIds = await this.checkedAgents(organizationId, data.agent_ids ?? null);
    const [id, secret] = [newId(), newWebhookSecret()];
    const { events, enabled = true } = data;
    const sealed = sealWebhookSecret(this.vault, id, secret);
    const webhook = { id, organizationId, url, events, agentIds, enabled, secret: sealed };
    return { item: toItem(await this.repository.insert(webhook)), secret };
  }

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<WebhookPage> {
    const page = await this.repository.list(caller.organization.id, input, answer);
    return { ...page, items: page.items.map(toItem) };
  }

  /** @throws DomainError `not_found`, `address_refused`, `invalid_request` for an unknown agent */
  async update(id: string, data: WebhookChange, caller: Principal): Promise<WebhookItem> {
    const organizationId = caller.organization.id;
    await this.find(id, caller);
    const { url, events, agent_ids: agentIds, enabled } = data;
    const columns: WebhookColumns = {
      ...(url !== undefined && { url: this.checkedUrl(url) }),
      ...(events !== undefined && { events }),
      ...(agentIds !== undefined && { agentIds: await this.checkedAgents(organizationId, agentIds) }),
      ...(enabled !== undefined && { enabled, disabledReason: null }),
    };
    return toItem(orUnknown(await this.repository.update(organizationId, id, () => columns)));
  }

  /** @throws DomainError `not_found` */
  async delete(id: string, caller: Principal): Promise<WebhookItem> {
    return toItem(orUnknown(await this.repository.delete(caller.organization.id, id)));
  }

  /** Replaces the secret. The previous one signs too for 24 hours. @throws DomainError `not_found` */
  async rotate(id: string, caller: Principal): Promise<{ item: WebhookItem; secret: string }> {
    const secret = newWebhookSecret();
    const rotated = await this.repository.update(caller.organization.id, id, (stored) => ({
      secret: sealWebhookSecret(this.vault, id, secret),
      previousSecret: resealAsPrevious(this.vault, stored),
      previousSecretUntil: new Date(databaseNow() + BOTH_SECRETS_MS),
    }));
    return { item: toItem(orUnknown(rotated)), secret };
  }

  /**
   * Sends the event `webhook.test`, once. The result reports every fault of the receiver.
   * @throws DomainError `not_found`
   */
  async test(id: string, caller: Principal): Promise<WebhookTested> {
    const webhook = await this.find(id, caller);
    const start = performance.now();
    const body = JSON.stringify({ type: 'webhook.test', timestamp: databaseDate().toISOString(), data: {} });
    const message = { id: newId(), url: webhook.url, body, webhook };
    const { ok, status, error } = await this.sender.send(message, new AbortController().signal);
    return { ok, status, latency_ms: Math.round(performance.now() - start), ...(error !== undefined && { error }) };
  }

  private async find(id: string, caller: Principal): Promise<WebhookEntity> {
    return orUnknown(await this.repository.find(caller.organization.id, id));
  }

  private checkedUrl(text: string): string {
    try {
      return this.policy.checkUrl(text).href;
    } catch (error) {
      if (!(error instanceof AddressRefusedError)) throw error;
      const { message } = error;
      throw new DomainError('address_refused', message, [{ path: 'data.url', code: 'address_refused', message }]);
    }
  }

  private async checkedAgents(organizationId: string, ids: readonly string[] | null): Promise<string[] | null> {
    if (ids === null) return null;
    const wanted = ids.map((id) => id.toLowerCase());
    const known = new Set((await this.agents.findAllForRun(organizationId, wanted)).map(({ id }) => id));
    const message = 'There is no agent with this id in the organization.';
    const faults = wanted.flatMap((id, index) =>
      known.has(id) ? [] : [{ path: `data.agent_ids[${index}]`, code: 'agent_not_found', message }],
    );
    if (faults.length > 0) throw new DomainError('invalid_request', message, faults);
    return wanted;
  }
}

function orUnknown(webhook: WebhookEntity | null): WebhookEntity {
  if (webhook === null) throw new DomainError('not_found', 'There is no webhook with this id in the organization.');
  return webhook;
}

function toItem(webhook: WebhookEntity): WebhookItem {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    agent_ids: webhook.agentIds,
    enabled: webhook.enabled,
    disabled_reason: webhook.disabledReason,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  };
}
