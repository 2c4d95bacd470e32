import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ListChangeFeed } from './list-change-feed.js';

describe('ListChangeFeed', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  function heardFrom(feed: ListChangeFeed): string[] {
    const heard: string[] = [];
    feed.onChange((id, kind) => void heard.push(`${kind} of ${id}`));
    return heard;
  }

  it('passes on at once what is said, and says no more when nothing follows', () => {
    const feed = new ListChangeFeed();
    const heard = heardFrom(feed);
    feed.tell('a', 'tools');

    expect(heard).toEqual(['tools of a']);
    jest.advanceTimersByTime(60_000);
    expect(heard).toEqual(['tools of a']);
    feed.tell('a', 'tools');
    expect(heard).toHaveLength(2);
  });

  it('makes a flood of the same one at its beginning and one a second, the last word included', () => {
    const feed = new ListChangeFeed();
    const heard = heardFrom(feed);
    for (let count = 0; count < 10_000; count++) feed.tell('a', 'tools');

    expect(heard).toHaveLength(1);
    jest.advanceTimersByTime(60_000);
    expect(heard).toHaveLength(2);
  });

  it('keeps kinds and connections apart', () => {
    const feed = new ListChangeFeed();
    const heard = heardFrom(feed);
    feed.tell('a', 'tools');
    feed.tell('a', 'prompts');
    feed.tell('b', 'tools');

    expect(heard).toEqual(['tools of a', 'prompts of a', 'tools of b']);
  });
});
