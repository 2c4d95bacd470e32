import { Page } from '../../ui/page.js';

export function OverviewView() {
  return <Page title="Overview">{null}</Page>;
}
