import Sequencer from '@jest/test-sequencer';

/** Starts the installations of the package first: they take the longest, and mostly wait. */
export default class PackagesFirst extends Sequencer {
  sort(tests) {
    const isOfPackage = ({ path }) => path.includes('/test/package/');
    const sorted = super.sort(tests);
    return [...sorted.filter(isOfPackage), ...sorted.filter((test) => !isOfPackage(test))];
  }
}
