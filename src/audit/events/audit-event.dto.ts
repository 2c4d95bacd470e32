import { IsIn, IsISO8601, IsString, IsUUID } from 'class-validator';
import { PageOf } from '../../core/paging/page-of.js';
import { Nested } from '../../core/validation/nested.js';
import { AnyJson, MayBeNull } from '../../core/validation/presence.js';
import { CallerItem } from '../caller.dto.js';
import { AUDIT_EVENT_NAMES, type AuditEventName, EVENT_TARGET_TYPES, type EventTargetType } from './audit-event.js';

/** Who caused an event. All properties are null for failed sign-ins and for what the service does at its start. */
class AuditEventActor extends CallerItem {
  /** The OAuth client. */
  @MayBeNull()
  @IsString()
  client_id: string | null;
}

/** What an event is about. */
class AuditEventTarget {
  @IsIn(EVENT_TARGET_TYPES)
  type: EventTargetType;

  @MayBeNull()
  @IsString()
  id: string | null;

  /** The name at the time of the event. */
  @MayBeNull()
  @IsString()
  name: string | null;
}

export class AuditEventItem {
  @IsUUID()
  id: string;

  @IsISO8601()
  at: string;

  @IsIn(AUDIT_EVENT_NAMES)
  event: AuditEventName;

  @Nested(() => AuditEventActor)
  actor: AuditEventActor;

  /** The network address of the caller; null for what the service does at its start. */
  @MayBeNull()
  @IsString()
  source: string | null;

  @MayBeNull()
  @Nested(() => AuditEventTarget)
  target: AuditEventTarget | null;

  /** The changed properties, each with `from`, `to` or both; null if there are none. Secrets are redacted. */
  @AnyJson()
  changes: unknown;
}

export class AuditEventPage extends PageOf(AuditEventItem) {}
