import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsString,
  IsUUID,
  MaxLength,
} from 'class-validator';
import { CreateOf, IdInput, UpdateOf } from '../../core/validation/item-input.js';
import { ItemOf, PageOf } from '../../core/paging/page-of.js';
import { ChangeOf, MayBeAbsent, MayBeNull } from '../../core/validation/presence.js';
import { DELIVERY_STATUSES, type DeliveryStatus } from './webhook-delivery.entity.js';
import { WEBHOOK_EVENTS, type WebhookEvent } from './webhook.entity.js';

const MAX_URL_LENGTH = 2048;
const MAX_AGENTS = 100;

export class WebhookData {
  @IsString()
  @MaxLength(MAX_URL_LENGTH)
  url: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayUnique()
  @IsIn(WEBHOOK_EVENTS, { each: true })
  events: WebhookEvent[];

  /** Only events of runs of these agents; null, the default, means all agents. */
  @MayBeAbsent()
  @MayBeNull()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_AGENTS)
  @ArrayUnique()
  @IsUUID(undefined, { each: true })
  agent_ids?: string[] | null;

  @MayBeAbsent()
  @IsBoolean()
  enabled?: boolean;
}

export class WebhookCreateInput extends CreateOf(WebhookData) {}

/** Absent properties keep their value. Pending deliveries go to a new address; `enabled: false` drops them. */
export class WebhookChange extends ChangeOf(WebhookData) {}

export class WebhookUpdateInput extends UpdateOf(WebhookChange) {}

export class WebhookIdInput extends IdInput {}

/** A webhook as returned to callers, without its secret. */
export class WebhookItem {
  @IsUUID()
  id: string;

  @IsString()
  url: string;

  @IsArray()
  @IsIn(WEBHOOK_EVENTS, { each: true })
  events: WebhookEvent[];

  @MayBeNull()
  @IsArray()
  @IsUUID(undefined, { each: true })
  agent_ids: string[] | null;

  @IsBoolean()
  enabled: boolean;

  /** Why the service has disabled the webhook; null if it has not. */
  @MayBeNull()
  @IsString()
  disabled_reason: string | null;

  @IsISO8601()
  created_at: string;

  @IsISO8601()
  updated_at: string;
}

export class WebhookOutput extends ItemOf(WebhookItem) {}

export class WebhookPage extends PageOf(WebhookItem) {}

/** Only this response contains the secret. */
export class WebhookWithSecret extends ItemOf(WebhookItem) {
  /** `whsec_` and the key of the signatures in base64. */
  @IsString()
  secret: string;
}

export class WebhookTested {
  @IsBoolean()
  ok: boolean;

  /** The HTTP status of the answer; null without one. */
  @MayBeNull()
  @IsInt()
  status: number | null;

  /** Duration until the answer ended or the test failed. */
  @IsInt()
  latency_ms: number;

  /** Why the test failed, in a sentence; absent when it passed. */
  @MayBeAbsent()
  @IsString()
  error?: string;
}

/** A delivery as returned to callers. */
export class WebhookDeliveryItem {
  /** Also the `webhook-id` of every try. */
  @IsUUID()
  id: string;

  @IsUUID()
  webhook_id: string;

  @IsIn(WEBHOOK_EVENTS)
  event: WebhookEvent;

  /** Null for an event that concerns no run. */
  @MayBeNull()
  @IsUUID()
  run_id: string | null;

  @IsIn(DELIVERY_STATUSES)
  status: DeliveryStatus;

  /** The number of finished tries. */
  @IsInt()
  attempts: number;

  /** The HTTP status of the last try; null without an answer. */
  @MayBeNull()
  @IsInt()
  last_status: number | null;

  @MayBeNull()
  @IsString()
  last_error: string | null;

  /** null unless the delivery is pending. */
  @MayBeNull()
  @IsISO8601()
  next_try_at: string | null;

  @IsISO8601()
  created_at: string;
}

export class WebhookDeliveryOutput extends ItemOf(WebhookDeliveryItem) {}

export class WebhookDeliveryPage extends PageOf(WebhookDeliveryItem) {}
