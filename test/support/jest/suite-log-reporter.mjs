import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

const FAILURE_LINES = 12;

/**
 * Adds a line of JSON to the file that `SUITE_LOG` names when a suite ends: its `path`, its `seconds`, the numbers of
 * `passed`, `failed` and `pending` tests, and its `failures` as texts. So what has ended is known, too, if the run does
 * not end.
 */
export default class SuiteLogReporter {
  onTestResult(_test, { testFilePath, perfStats, testResults, testExecError }) {
    const path = relative('.', testFilePath);
    const count = (status) => testResults.filter((test) => test.status === status).length;
    const failures = testResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => `${path} ${fullName}\n${failureMessages.map(shorten).join('\n')}`);
    // A suite that could not run counts as one failure.
    if (testExecError && failures.length === 0)
      failures.push(`${path}\n${shorten(testExecError.stack ?? testExecError.message)}`);
    const line = {
      path,
      seconds: Math.round(perfStats.runtime / 1000),
      passed: count('passed'),
      failed: failures.length,
      pending: count('pending'),
      failures,
    };
    appendFileSync(process.env.SUITE_LOG, `${JSON.stringify(line)}\n`);
  }
}

function shorten(message) {
  return stripVTControlCharacters(message).split('\n').slice(0, FAILURE_LINES).join('\n');
}
