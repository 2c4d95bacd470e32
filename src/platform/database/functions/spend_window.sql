-- The window of this moment of a subject, locked until the transaction ends. The first call in a window makes it.
CREATE OR REPLACE FUNCTION spend_window(_organization uuid, _scope text, _subject uuid, _period text)
  RETURNS spend_windows LANGUAGE plpgsql AS $$
DECLARE
  _starts timestamptz := spend_window_start(_period);
  _window spend_windows;
BEGIN
  LOOP
    SELECT * INTO _window FROM spend_windows
      WHERE organization_id = _organization AND scope = _scope AND subject_id = _subject AND period = _period
        AND starts_at = _starts
      FOR UPDATE;
    IF FOUND THEN
      RETURN _window;
    END IF;
    INSERT INTO spend_windows (organization_id, scope, subject_id, period, starts_at, used)
      VALUES (_organization, _scope, _subject, _period, _starts,
              spend_before(_organization, _scope, _subject, _starts))
      ON CONFLICT DO NOTHING;
  END LOOP;
END
$$;
