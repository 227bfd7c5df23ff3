-- What `manage.py seed_scale` inserts, one statement a step, each with the rows first to last.
-- A row's id is the digest of what it is and its number, so that others find it by arithmetic.

-- step: setup
CREATE OR REPLACE FUNCTION pg_temp.words(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT (ARRAY['convert', 'extract', 'search', 'translate', 'measure', 'render', 'compare',
        'validate', 'summarise', 'schedule'])[1 + i % 10] || ' '
    || (ARRAY['invoices', 'markdown', 'images', 'weather', 'contacts', 'tables', 'logs', 'prices',
        'routes', 'calendars', 'tickets', 'parcels'])[1 + (i / 10) % 12] || ' '
    || (ARRAY['quickly', 'for a region', 'by date', 'in bulk', 'with a filter', 'as JSON',
        'for a customer'])[1 + (i / 120) % 7]
$$

-- step: people
INSERT INTO auth_user (username, password, first_name, last_name, email, is_staff, is_active,
    is_superuser, date_joined)
SELECT 'scale-' || i, '!', '', '', '', false, true, false, now() FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: packages
INSERT INTO registry_package (id, ecosystem, name, version, integrity, artifact, description,
    category, env, settings, allowed_hosts, frameworks, tier, downloads, manifest, findings,
    review_status, stopped_reason, added_by_id, created_at, updated_at)
SELECT md5('package' || i)::uuid, 'npm', '@scale/package-' || i, '1.' || i %% 9 || '.0', '', '',
    'Tools that ' || pg_temp.words(i), (ARRAY['text','data','web','finance','images','other'])[1 + i %% 6],
    '[]', '{}', '{}', '{}', 'minimal', (random() * 1000000)::int, '{}', '[]',
    (ARRAY['approved','approved','approved','approved','approved','approved','approved','candidate',
    'rejected','quarantined'])[1 + i %% 10], '', p.id, now() - i * interval '1 minute',
    now() - i * interval '30 seconds'
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: tools
INSERT INTO registry_tool (id, package_id, kind, export_name, wire_name, title, description,
    category, input_schema, output_schema, ai_agent, required_scopes, raw_string_args, definition,
    timeout_seconds, version, quality, owner_id, team_id, visibility, review_status,
    unreviewed_versions, deprecation_note, stopped_reason, import_health, execution_health,
    created_at, updated_at)
SELECT md5('tool' || i)::uuid,
    CASE WHEN i %% 100 < %(requests)s THEN NULL
        ELSE md5('package' || (1 + i %% %(packages)s))::uuid END,
    CASE WHEN i %% 100 < %(sequences)s THEN 'sequence'
    WHEN i %% 100 < %(requests)s THEN 'api' ELSE 'npm' END, 'tool' || i, 'scale_tool_' || i, initcap(pg_temp.words(i)) || ' ' || i,
    'This tool can ' || pg_temp.words(i) || '. It takes a text and a limit, and answers with a list.',
    (ARRAY['text','data','web','finance','images','other'])[1 + i %% 6], '{"type": "object", "required": ["text"], "properties": {
        "text": {"type": "string", "description": "What to work on."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100}}}', NULL, '{}',
    '{}', '{}',
    CASE WHEN i %% 100 < %(sequences)s THEN jsonb_build_object('format', 1, 'steps',
        jsonb_build_array(jsonb_build_object('stepNumber', 1, 'toolToRunId',
        md5('tool' || (1 + (i * 7 + 50) %% %(tools)s))::uuid, 'toolVersion', NULL, 'inputMapping',
        '{"text":{"source":"initialInput","key":"text"}}'::jsonb)))
        WHEN i %% 100 < %(requests)s THEN jsonb_build_object('method', 'GET', 'url',
        'http://localhost/items') END,
    30, 1, round((.3 + .6 * random())::numeric, 2),
    CASE WHEN i %% 100 < %(requests)s THEN p.id END, NULL,
    CASE WHEN i %% 100 < %(requests)s AND i %% 3 = 0 THEN 'private' ELSE 'public' END,
    CASE WHEN i %% 50 = 1 THEN 'candidate' ELSE 'approved' END, '{}', '', '',
    CASE WHEN i %% 97 = 0 THEN 'broken' ELSE 'healthy' END,
    CASE WHEN i %% 89 = 0 THEN 'broken' WHEN i %% 83 = 0 THEN 'needs_key' ELSE 'healthy' END,
    now() - i * interval '1 minute', now() - i * interval '30 seconds'
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: versions
INSERT INTO registry_toolversion (id, tool_id, number, digest, snapshot, reason, author_id,
    created_at)
SELECT md5('version' || i)::uuid, t.id, 1, md5('version' || i) || md5(t.wire_name),
    jsonb_build_object('kind', t.kind, 'title', t.title, 'description', t.description, 'category',
    t.category, 'input_schema', t.input_schema, 'output_schema', NULL, 'ai_agent', '{}'::jsonb,
    'required_scopes', '[]'::jsonb, 'timeout_seconds', 30, 'export_name', t.export_name,
    'definition', t.definition, 'package', CASE WHEN t.package_id IS NOT NULL THEN
    jsonb_build_object('ecosystem', 'npm', 'name', '@scale/package-' || (1 + i %% %(packages)s),
    'version', '1.0.0', 'integrity', '', 'artifact', '', 'env', '[]'::jsonb) END),
    'Imported', NULL, t.created_at
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN registry_tool t ON t.id = md5('tool' || i)::uuid

-- step: agents
INSERT INTO agents_agent (id, slug, name, description, instructions, model, discovery_mode,
    max_found_tools, code_execution, scopes, owner_id, visibility, created_at, updated_at)
SELECT md5('agent' || i)::uuid, 'scale-' || i, 'Scale agent ' || i, '', '', '', 'auto', 5, false,
    '{}', p.id, 'private', now(), now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: links
INSERT INTO agents_agenttool (agent_id, tool_id, config, pinned_version, approval, created_at)
SELECT md5('agent' || (1 + i %% %(agents)s))::uuid, md5('tool' || (1 + (i * 37) %% %(tools)s))::uuid,
    '{}', CASE WHEN i %% 9 = 0 THEN 1 END, 'allow', now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i
ON CONFLICT DO NOTHING

-- step: conversations
INSERT INTO chat_conversation (id, user_id, agent_id, title, created_at, updated_at)
SELECT md5('conversation' || i)::uuid, a.owner_id, a.id, 'Conversation ' || i,
    now() - i * interval '3 minutes', now() - i * interval '2 minutes'
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN agents_agent a ON a.id = md5('agent' || (1 + i %% %(agents)s))::uuid

-- step: turns
INSERT INTO chat_turn (id, conversation_id, number, status, model, usage, created_at, finished_at)
SELECT md5('turn' || i)::uuid, md5('conversation' || (1 + (i - 1) / 3))::uuid, 1 + (i - 1) %% 3,
    CASE WHEN i %% 23 = 0 THEN 'failed' ELSE 'completed' END, 'demo/offline',
    jsonb_build_object('input_tokens', 200 + i %% 900, 'output_tokens', 20 + i %% 200),
    now() - i * interval '1 minute', now() - i * interval '1 minute' + (i %% 9) * interval '1 second'
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: runs
INSERT INTO sequences_run (id, tool_id, tool_version_id, status, input, output, caller, user_id,
    created_at, started_at, finished_at)
SELECT md5('run' || i)::uuid, md5('tool' || s.n)::uuid, md5('version' || s.n)::uuid,
    CASE WHEN i %% 19 = 0 THEN 'failed' ELSE 'succeeded' END, '{"text":"a"}', '[]', 'browser',
    p.id, now() - i * interval '4 minutes', now() - i * interval '4 minutes',
    now() - i * interval '4 minutes' + interval '2 seconds'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
CROSS JOIN LATERAL (SELECT 100 * (1 + (i * 13) %% (%(tools)s / 100)) AS n) s
JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: calls
INSERT INTO registry_invocation (id, tool_id, tool_version, caller, user_id, agent_id, turn_id,
    outcome, phase, error_code, error, arguments, output, duration_ms, decision, cost, created_at)
SELECT md5('call' || i)::uuid,
    md5('tool' || (1 + floor(%(tools)s * power(x.r, 3))::int %% %(tools)s))::uuid, 1,
    (ARRAY['chat','chat','chat','sequence','browser','rest'])[1 + i %% 6], p.id,
    CASE WHEN i %% 6 < 3 THEN md5('agent' || (1 + i %% %(agents)s))::uuid END,
    CASE WHEN i %% 6 < 3 THEN md5('turn' || (1 + i %% %(turns)s))::uuid END,
    CASE WHEN i %% 14 = 0 THEN 'failed' ELSE 'succeeded' END, 'execute',
    CASE WHEN i %% 14 = 0 THEN (ARRAY['tool_failed','tool_timeout','upstream_unavailable'])
        [1 + i %% 3] ELSE '' END,
    CASE WHEN i %% 14 = 0 THEN '{"code":"tool_failed","message":"It failed."}'::jsonb END,
    '{"text":"something"}', '"done"', (20 * power(40, x.r))::int, 'allowed', NULL,
    now() - (%(invocations)s - i) * (interval '180 days' / %(invocations)s)
FROM generate_series(%(first)s::int, %(last)s::int) AS i
CROSS JOIN LATERAL (SELECT random() + 0 * i AS r) x
JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)
