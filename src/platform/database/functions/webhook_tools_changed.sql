-- Definitions that a pinned connection lists for the first time, and that are not approved. One statement inserts those
-- of one list, and the approved names are read once for all of them. A name is JSON text.
--
-- A session keeps the plan that it has made for its first list, which may have had one tool. Therefore nothing is
-- joined with `added`: the identifiers are gathered once, and a list of 10,000 takes 10,000 steps with any plan.
CREATE OR REPLACE FUNCTION webhook_tools_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM webhook_deliver('tools.changed', changed.organization_id, NULL, NULL, json_build_object(
      'connection_id', changed.connection_id,
      'pin', connections.pin,
      'total', changed.total,
      'tools', changed.tools))
    FROM (
      SELECT organization_id, connection_id, count(*) AS total,
             json_agg(json_build_object(
               'name', tool_name::json,
               'status', status,
               'fingerprint', fingerprint) ORDER BY place) FILTER (WHERE place <= 100) AS tools
        FROM (
          SELECT *, row_number() OVER (ORDER BY tool_name COLLATE "C", fingerprint) AS place,
                 CASE WHEN is_known THEN 'changed' ELSE 'new' END AS status
            FROM (
              SELECT *, bool_or(is_approved) OVER (PARTITION BY connection_id, tool_name COLLATE "C") AS is_known
                FROM (
                  SELECT organization_id, connection_id, tool_name, fingerprint, false AS is_approved
                    FROM added
                   WHERE approved_at IS NULL
                  UNION ALL
                  SELECT organization_id, connection_id, tool_name, fingerprint, true
                    FROM pinned_tools
                   WHERE approved_at IS NOT NULL
                     AND connection_id = ANY (ARRAY(SELECT DISTINCT connection_id FROM added WHERE approved_at IS NULL))
                ) AS all_forms
            ) AS forms
           WHERE NOT is_approved) AS placed
       GROUP BY organization_id, connection_id) AS changed
    JOIN connections ON connections.id = changed.connection_id;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER pinned_tools_webhooks AFTER INSERT ON pinned_tools REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION webhook_tools_changed();
