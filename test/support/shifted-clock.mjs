/** Preloaded with `NODE_OPTIONS`: shifts the wall clock of a process by `CLOCK_SHIFT_MS`. */
const shiftMs = Number(process.env.CLOCK_SHIFT_MS);
const WallDate = Date;

globalThis.Date = class extends WallDate {
  constructor(...values) {
    super(...(values.length === 0 ? [WallDate.now() + shiftMs] : values));
  }

  static now() {
    return WallDate.now() + shiftMs;
  }
};
