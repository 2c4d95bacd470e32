import { beforeEach, describe, expect, it } from '@jest/globals';
import type { AnswerRooms } from '../../core/answers/answer-room.js';
import { FanOutReport } from '../../upstreams/fan-out-report.js';
import { ListChangeFeed } from '../../upstreams/catalog/list-change-feed.js';
import type { UpstreamRequests } from '../../upstreams/upstream-requests.js';
import { UnavailableLedger } from '../../platform/telemetry/unavailable-ledger.js';
import { OfferLists } from './offer-lists.js';

const MORE_THAN_ARE_REMEMBERED = 12_000;

describe('OfferLists', () => {
  let feed: ListChangeFeed;
  let lists: OfferLists;

  beforeEach(() => {
    feed = new ListChangeFeed();
    // No list is read here.
    lists = new OfferLists({} as UpstreamRequests, new FanOutReport(new UnavailableLedger()), {} as AnswerRooms, feed);
  });

  it('has another generation of a list when it has changed, and only then', () => {
    const [prompts, resources] = [lists.generationOf('a', 'prompts'), lists.generationOf('a', 'resources')];
    expect(lists.generationOf('a', 'prompts')).toBe(prompts);
    feed.tell('a', 'prompts');
    expect(lists.generationOf('a', 'prompts')).not.toBe(prompts);
    expect(lists.generationOf('a', 'resources')).toBe(resources);
  });

  it('detects a change, however many other lists have changed since', () => {
    const seen = [lists.generationOf('a', 'prompts')];
    feed.tell('a', 'prompts');
    seen.push(lists.generationOf('a', 'prompts'));
    for (let i = 0; i < MORE_THAN_ARE_REMEMBERED; i++) feed.tell(`other ${i}`, 'prompts');
    feed.tell('b', 'prompts');
    expect(seen).not.toContain(lists.generationOf('a', 'prompts'));
  });
});
