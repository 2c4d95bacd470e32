import Sequencer from '@jest/test-sequencer';

/**
 * Suites that take minutes, in this order. Without the times of a run before it, as in CI, Jest begins with the largest
 * files: a long suite in a small file would come last, beside workers that have nothing left to do.
 */
const LONGEST = [
  // Mostly waits for installations.
  '/test/package/',
  '/test/faults/',
  '/test/runtime/runs/run-sharing',
  '/test/proxy/gateway/ask-kills',
  '/test/platform/redis/redis-failover',
  '/test/conformance/',
  '/test/boot/',
  '/test/pressure/',
  '/test/soak/',
  '/test/runtime/turns/steering-kills',
  '/test/runtime/approvals/approval-restarts',
  '/test/proxy/translation/asked-clients',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const rankOf = ({ path }) => {
      const rank = LONGEST.findIndex((part) => path.includes(part));
      return rank === -1 ? LONGEST.length : rank;
    };
    return super.sort(tests).toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}
