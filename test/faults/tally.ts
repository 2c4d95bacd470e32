/** What a trial counts. Every number under `wrong` must be 0. */
export interface Verdict {
  readonly counts: {
    accepted: number;
    answered: number;
    repeatedPosts: number;
    messages: number;
    readers: number;
    /** Readers that were told with 410 that the run is over and its frames are gone. */
    expiredReaders: number;
    connections: number;
    frames: number;
    restarts: number;
    foldedStreams: number;
    booked: number;
    notBooked: number;
    repeatedAttempts: number;
    approved: number;
    denied: number;
    /** Approvals that two callers answered differently at the same time. */
    contested: number;
    /** Calls that were approved, and whose outcome is unknown because a worker was killed. */
    paymentsUnknown: number;
  };
  readonly wrong: {
    unanswered: number;
    lost: number;
    double: number;
    disordered: number;
    gaps: number;
    repeats: number;
    differing: number;
    inProgress: number;
    bookedTwice: number;
    bookedUnknown: number;
    /**
     * Approvals without exactly one answer that counts: in the responses, in the transcript, in the record of events.
     */
    notAnsweredOnce: number;
    paidTwice: number;
    paidUnapproved: number;
    paidUnknown: number;
    waiting: number;
  };
  /** One sentence for each fault. */
  readonly faults: string[];
}

/** A verdict that has counted nothing. */
export function newVerdict(faults: string[]): Verdict {
  return {
    counts: {
      accepted: 0,
      answered: 0,
      repeatedPosts: 0,
      messages: 0,
      readers: 0,
      expiredReaders: 0,
      connections: 0,
      frames: 0,
      restarts: 0,
      foldedStreams: 0,
      booked: 0,
      notBooked: 0,
      repeatedAttempts: 0,
      approved: 0,
      denied: 0,
      contested: 0,
      paymentsUnknown: 0,
    },
    wrong: {
      unanswered: 0,
      lost: 0,
      double: 0,
      disordered: 0,
      gaps: 0,
      repeats: 0,
      differing: 0,
      inProgress: 0,
      bookedTwice: 0,
      bookedUnknown: 0,
      notAnsweredOnce: 0,
      paidTwice: 0,
      paidUnapproved: 0,
      paidUnknown: 0,
      waiting: 0,
    },
    faults,
  };
}

/** Counts a fault. */
export function count(verdict: Verdict, what: keyof Verdict['wrong'], fault: string): void {
  verdict.wrong[what]++;
  verdict.faults.push(fault);
}
