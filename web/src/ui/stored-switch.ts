import { useSyncExternalStore } from 'react';

/** A switch that the browser remembers, and that all views follow at once. */
export class StoredSwitch {
  private readonly listeners = new Set<() => void>();
  private value: boolean;

  constructor(
    private readonly storedAs: string,
    isOnAtFirst: boolean,
  ) {
    const stored = localStorage.getItem(storedAs);
    this.value = stored === null ? isOnAtFirst : stored === 'on';
  }

  readonly isOn = (): boolean => this.value;

  readonly set = (isOn: boolean): void => {
    this.value = isOn;
    localStorage.setItem(this.storedAs, isOn ? 'on' : 'off');
    for (const listener of this.listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

/** Whether the switch is on, and a function that sets it. */
export function useSwitch(chosen: StoredSwitch): readonly [boolean, (isOn: boolean) => void] {
  return [useSyncExternalStore(chosen.subscribe, chosen.isOn), chosen.set];
}
