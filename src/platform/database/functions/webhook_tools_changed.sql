-- Definitions that a pinned connection lists for the first time, and that are not approved. One statement inserts those
-- of one list. A name is JSON text; one that is too long for a message is left out.
CREATE OR REPLACE FUNCTION webhook_tools_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM webhook_deliver('tools.changed', changed.organization_id, NULL, NULL, json_build_object(
      'connection_id', changed.connection_id,
      'pin', changed.pin,
      'total', changed.total,
      'tools', changed.tools))
    FROM (
      SELECT organization_id, connection_id, pin, count(*) AS total,
             json_agg(json_build_object(
               'name', CASE WHEN octet_length(tool_name) <= 1024 THEN tool_name::json END,
               'status', status,
               'fingerprint', fingerprint) ORDER BY place) FILTER (WHERE place <= 100) AS tools
        FROM (
          SELECT added.*, connections.pin, row_number() OVER (ORDER BY tool_name COLLATE "C", fingerprint) AS place,
                 CASE WHEN EXISTS (
                   SELECT FROM pinned_tools approved
                    WHERE approved.connection_id = added.connection_id AND approved.tool_name = added.tool_name
                      AND approved.approved_at IS NOT NULL) THEN 'changed' ELSE 'new' END AS status
            FROM added JOIN connections ON connections.id = added.connection_id
           WHERE added.approved_at IS NULL) AS placed
       GROUP BY organization_id, connection_id, pin) AS changed;
  RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER pinned_tools_webhooks AFTER INSERT ON pinned_tools REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION webhook_tools_changed();
