import { Page } from '../../ui/page.js';

export function PlaygroundView() {
  return <Page title="Playground">{null}</Page>;
}
