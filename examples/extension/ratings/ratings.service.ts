import { InjectQueue } from '@nestjs/bullmq';
import { Injectable } from '@nestjs/common';
import type { HeldAnswer } from '../../../src/core/answers/answer-budget.js';
import { newId } from '../../../src/core/ids.js';
import type { ListInput } from '../../../src/core/paging/list-input.js';
import type { ListSpec } from '../../../src/core/paging/list-spec.js';
import { paginate } from '../../../src/core/paging/paginate.js';
import type { Principal } from '../../../src/core/principal.js';
import type { ServiceQueue } from '../../../src/platform/queue/service-queue.js';
import { ThreadService } from '../../../src/runtime/threads/thread.service.js';
import type { RatingCreateInput, RatingItem, RatingPage, RatingReport } from './rating.dto.js';
import type { RatingEntity } from './rating.entity.js';
import { ESCALATION_QUEUE, type EscalationJob } from './escalation.queue.js';
import { RatingRepository } from './rating.repository.js';

/** The fields that callers can filter and order by. */
const RATING_LIST: ListSpec = {
  name: 'ratings',
  fields: {
    id: { column: 'rating.id', type: 'uuid' },
    thread_id: { column: 'rating.threadId', type: 'string' },
    stars: { column: 'rating.stars', type: 'number' },
    created_at: { column: 'rating.createdAt', type: 'date' },
  },
  defaultOrder: [{ field: 'created_at', direction: 'desc' }],
  tieBreaker: 'id',
};

@Injectable()
export class RatingsService {
  constructor(
    private readonly repository: RatingRepository,
    private readonly threads: ThreadService,
    @InjectQueue(ESCALATION_QUEUE) private readonly escalations: ServiceQueue<EscalationJob>,
  ) {}

  /** @throws DomainError `thread_not_found` */
  async create(input: RatingCreateInput, caller: Principal): Promise<RatingItem> {
    const organizationId = caller.organization.id;
    await this.threads.requireExisting(organizationId, input.thread_id);
    const { thread_id: threadId, stars } = input;
    const rating = await this.repository.insert({ id: newId(), organizationId, threadId, stars });
    if (stars === 1) await this.escalations.add('escalate', { ratingId: rating.id });
    return toItem(rating);
  }

  async list(input: ListInput, caller: Principal, answer: HeldAnswer): Promise<RatingPage> {
    const query = this.repository.queryOfOrganization(caller.organization.id);
    const page = await paginate(query, RATING_LIST, input, answer);
    return { ...page, items: page.items.map(toItem) };
  }

  report(caller: Principal): Promise<RatingReport> {
    return this.repository.averageOfOrganization(caller.organization.id);
  }
}

function toItem(rating: RatingEntity): RatingItem {
  return {
    id: rating.id,
    thread_id: rating.threadId,
    stars: rating.stars,
    escalated_at: rating.escalatedAt?.toISOString() ?? null,
    created_at: rating.createdAt.toISOString(),
  };
}
