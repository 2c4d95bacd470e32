import { PeriodField } from '../../charts/period.js';
import { Page } from '../../ui/page.js';
import { CallFigures } from './call-figures.js';
import { FirstSteps } from './first-steps.js';
import { NeedsAttention } from './needs-attention.js';
import { RunFigures } from './run-figures.js';

/** The picture of the organization on one page. */
export function OverviewView() {
  return (
    <Page
      title="Overview"
      description="What runs, what fails, how fast it is and what it uses."
      actions={<PeriodField />}
    >
      <FirstSteps />
      <NeedsAttention />
      <CallFigures />
      <RunFigures />
    </Page>
  );
}
