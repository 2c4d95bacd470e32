import { Link } from '@tanstack/react-router';
import { PeriodField } from '../../charts/period.js';
import { useOrganization } from '../../session/organization.js';
import { Button } from '../../ui/button.js';
import { Page } from '../../ui/page.js';
import { CallFigures } from './call-figures.js';
import { FirstSteps } from './first-steps.js';
import { NeedsAttention } from './needs-attention.js';
import { RunFigures } from './run-figures.js';
import { Spending } from './spending.js';
import { WhatToAskFor } from './what-to-ask-for.js';

/** Without any of these there is nothing to show. */
const SHOWN_WITH = ['MONITORING_STATS', 'RUN_STATS', 'RUN_LIST', 'USAGE_STATS', 'COLLECTION_CONNECTIONS_LIST'];

/** The picture of the organization on one page. */
export function OverviewView() {
  const { slug, may } = useOrganization();
  return (
    <Page
      title="Overview"
      description="What runs, what fails, how fast it is and what it uses."
      actions={
        <>
          <Button asChild variant="secondary">
            <Link to="/$org/wall" params={{ org: slug }}>
              For a screen on the wall
            </Link>
          </Button>
          <PeriodField />
        </>
      }
    >
      {!SHOWN_WITH.some(may) && <WhatToAskFor />}
      <FirstSteps />
      <NeedsAttention />
      <CallFigures />
      <RunFigures />
      <Spending />
    </Page>
  );
}
