export const ESCALATION_QUEUE = 'rating-escalations';

export interface EscalationJob {
  ratingId: string;
}
