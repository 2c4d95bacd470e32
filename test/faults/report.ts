import type { TrialReport } from './trial.js';

const SHOWN_FAULTS = 20;

/** The report of a trial as text. */
export function formatReport(report: TrialReport): string {
  const { options, counts, wrong, faults, kills, restartedStores } = report;
  const lines: [name: string, text: string][] = [
    [
      'faults',
      `${Object.entries(kills)
        .map(([what, times]) => `${what} ${times}`)
        .join(', ')}; restarted: ${restartedStores.join(', ')}; starts given up: ${report.failedStarts}`,
    ],
    ['accepted', `${counts.accepted} (${counts.repeatedPosts} posts repeated after a broken connection)`],
    ['answered', `${counts.answered}, ${wrong.unanswered} not; ${counts.repeatedAttempts} by a later attempt`],
    [
      'messages',
      `${counts.messages}: ${wrong.lost} lost, ${wrong.double} double, ${wrong.disordered} threads out of order`,
    ],
    [
      'readers',
      `${counts.readers} over ${counts.connections} connections, ${counts.frames} frames: ${wrong.gaps} gaps, ${wrong.repeats} repeats; ` +
        `${counts.restarts} steps begun again, ${counts.expiredReaders} answered 410`,
    ],
    ['folded', `${counts.foldedStreams - wrong.differing} streams equal the stored message, ${wrong.differing} differ`],
    ['threads', `${options.threads}, ${wrong.inProgress} left in_progress`],
    [
      'tool',
      `not idempotent: ${counts.booked - wrong.bookedTwice} runs called it once, ${counts.notBooked} not at all, ${wrong.bookedTwice} more often, ` +
        `${wrong.bookedUnknown} reported a call that never arrived`,
    ],
    [
      'approvals',
      `${counts.approved} approved, ${counts.denied} denied, ${counts.contested} of them answered both ways at once; ` +
        `${wrong.notAnsweredOnce} not answered once, ${wrong.waiting} left waiting`,
    ],
    [
      'payments',
      `${counts.approved - counts.paymentsUnknown} made, ${counts.paymentsUnknown} with an unknown outcome, ` +
        `${wrong.paidTwice} more than once, ${wrong.paidUnapproved} without approval, ${wrong.paidUnknown} reported and not made`,
    ],
    [
      'SIGTERM',
      `slowest exit ${(report.slowestExitMs / 1000).toFixed(1)} s; ${report.endedBeforeMain} ended before Node.js ran main.js`,
    ],
    ['verdict', faults.length === 0 ? 'no fault' : `${faults.length} FAULTS; output of the processes: ${report.logs}`],
  ];
  return [
    `${options.backend}, seed ${options.seed}: ${options.runs} runs over ${options.threads} threads in ${report.seconds.toFixed(1)} s`,
    ...lines.map(([name, text]) => `  ${name.padEnd(9)} ${text}`),
    ...faults.slice(0, SHOWN_FAULTS).map((fault) => `  - ${fault.slice(0, 2_000)}`),
    '',
  ].join('\n');
}
