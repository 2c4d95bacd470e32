import { MAX_PAGE_BYTES } from './run-event-store.js';
import { createHash } from 'node:crypto';
import type { RedisClient } from '../../platform/redis/open-redis.js';

/** A Lua script that the server runs atomically. Sent by its hash, or in full if the server has not cached it. */
export class RedisScript {
  private readonly sha1: string;

  constructor(private readonly source: string) {
    this.sha1 = createHash('sha1').update(source).digest('hex');
  }

  async run(redis: RedisClient, keys: readonly string[], values: readonly (string | number)[]): Promise<unknown> {
    try {
      return await redis.evalsha(this.sha1, keys.length, ...keys, ...values);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
        return redis.eval(this.source, keys.length, ...keys, ...values);
      }
      throw error;
    }
  }
}

// A run is a hash {fence, epoch, next, ended} and a stream with one entry per batch. An entry's id is
// `<last frame>-<first frame>`: ids must increase, so the server rejects a batch out of order, and the batches after
// frame n start at id `<n + 1>`. Numbers reach Lua as text and are compared as text where that suffices.

/**
 * KEYS hash, stream. ARGV fence, epoch, ms to live. Returns the next frame number, or 0 if a higher fence holds the
 * stream.
 */
export const OPEN_STREAM = new RedisScript(`
  local fence = redis.call('HGET', KEYS[1], 'fence')
  if fence and tonumber(fence) > tonumber(ARGV[1]) then
    return 0
  end
  redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'epoch', ARGV[2], 'ended', '0')
  redis.call('HSETNX', KEYS[1], 'next', '1')
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
  return tonumber(redis.call('HGET', KEYS[1], 'next'))
`);

/**
 * KEYS hash, stream. ARGV fence, first, next, entry id ('' for no frames), end ('0' or '1'), frames, ms to live,
 * channel, payload, epoch. Stores and publishes. Returns 1 also for a batch that is already stored, and 0 if the writer
 * is fenced off or the batch does not continue the stream.
 */
const APPEND = `
  local fence, first, next, id, ended, frames = unpack(ARGV)
  local epoch = ARGV[10]
  local held = redis.call('HMGET', KEYS[1], 'fence', 'next', 'ended', 'epoch')
  if held[1] ~= fence or held[4] ~= epoch then
    return 0
  end
  if held[2] == first and held[3] == '0' then
    if id ~= '' then
      redis.call('XADD', KEYS[2], id, 'frames', frames, 'epoch', epoch)
    end
    redis.call('HSET', KEYS[1], 'next', next, 'ended', ended)
    redis.call('PEXPIRE', KEYS[1], ARGV[7])
    redis.call('PEXPIRE', KEYS[2], ARGV[7])
    redis.call('PUBLISH', ARGV[8], ARGV[9])
    return 1
  end
  if tonumber(held[2]) < tonumber(next) or (ended == '1' and held[3] == '0') then
    return 0
  end
  if id == '' then
    return 1
  end
  local entry = redis.call('XRANGE', KEYS[2], id, id)[1]
  return (entry and entry[2][2] == frames and entry[2][4] == epoch) and 1 or 0
`;

export const APPEND_BATCH = new RedisScript(APPEND);

/**
 * Creates a stream if it does not exist, then continues like `APPEND_BATCH`, with the same arguments. A repeated call
 * only appends, which succeeds for a batch that is already stored.
 */
export const START_STREAM = new RedisScript(`
  if redis.call('EXISTS', KEYS[1]) == 0 then
    redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'epoch', ARGV[10], 'next', '1', 'ended', '0')
  end
  ${APPEND}
`);

/**
 * KEYS hash, stream. ARGV the reader's frame, the number of frames to read after it. Returns nothing for an unknown
 * run, otherwise { next, ended, id, epoch, frames, id, epoch, frames, … }, starting with the batch that holds the
 * reader's frame. If that batch ends with the reader's frame, its frames are omitted.
 */
export const READ_BATCHES = new RedisScript(`
  local held = redis.call('HMGET', KEYS[1], 'next', 'ended')
  if not held[1] then
    return false
  end
  local page = { held[1], held[2] }
  local from, after = ARGV[1], tonumber(ARGV[1])
  local upTo, last, bytes = after + tonumber(ARGV[2]), 0, 0
  while last < upTo and bytes < ${MAX_PAGE_BYTES} do
    local entries = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 16)
    for _, entry in ipairs(entries) do
      if last >= upTo or bytes >= ${MAX_PAGE_BYTES} then
        break
      end
      last = tonumber(string.match(entry[1], '^%d+'))
      local frames = last > after and entry[2][2] or ''
      page[#page + 1] = entry[1]
      page[#page + 1] = entry[2][4] or ''
      page[#page + 1] = frames
      bytes = bytes + #frames
    end
    if #entries < 16 then
      break
    end
    from = string.format('%.0f', last + 1)
  end
  return page
`);
