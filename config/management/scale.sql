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
$$;

-- What sets a tool apart from those that do the same: else most would be taken for copies.
CREATE OR REPLACE FUNCTION pg_temp.setting(i int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
SELECT (ARRAY['hospitals', 'schools', 'airports', 'farms', 'museums', 'banks', 'bakeries',
        'harbours', 'theatres', 'libraries', 'factories', 'vineyards', 'hotels', 'clinics',
        'courts', 'stadiums', 'warehouses', 'laboratories', 'mines', 'bridges', 'railways',
        'forests', 'islands'])[1 + i % 23] || ', '
    || (ARRAY['drawings', 'receipts', 'recordings', 'samples', 'permits', 'menus', 'timetables',
        'blueprints', 'subtitles', 'recipes', 'contracts', 'passports', 'barcodes', 'telemetry',
        'podcasts', 'genomes', 'spectra', 'ledgers', 'surveys'])[1 + i / 23 % 19] || ' and '
    || (ARRAY['sensors', 'queues', 'budgets', 'signatures', 'holidays', 'batteries', 'pipelines',
        'playlists', 'payrolls', 'coupons', 'vaccines', 'elevators', 'satellites', 'archives',
        'auctions', 'drones', 'turbines', 'kernels', 'lockers'])[1 + i / 437 % 19]
$$;

-- Agent 2 is asked a tenth of all, as some agents are; the others alike.
CREATE OR REPLACE FUNCTION pg_temp.agent_of(conversation int, agents int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
SELECT CASE WHEN conversation % 10 = 1 THEN 2 ELSE 1 + conversation % agents END
$$;

-- The number of the tool that the link of a number leads to.
CREATE OR REPLACE FUNCTION pg_temp.linked(i int, tools int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
SELECT 1 + (i * 37) % tools
$$

-- step: people
INSERT INTO auth_user (username, password, first_name, last_name, email, is_staff, is_active,
    is_superuser, date_joined)
SELECT 'scale-' || i, '!', '', '', '', false, true, false, now() FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: packages
INSERT INTO registry_package (id, ecosystem, name, version, integrity, artifact, description,
    category, env, settings, allowed_hosts, frameworks, tier, downloads, manifest, findings,
    deprecations, review_status, stopped_reason, added_by_id, search_xid, created_at, updated_at)
SELECT md5('package' || i)::uuid, 'npm', '@scale/package-' || i, '1.' || i %% 9 || '.0', '', '',
    'Tools that ' || pg_temp.words(i), (ARRAY['text','data','web','finance','images','other'])[1 + i %% 6],
    '[]', '{}', '{}', '{}', 'minimal', (random() * 1000000)::int, '{}', '[]', '{}',
    (ARRAY['approved','approved','approved','approved','approved','approved','approved','candidate',
    'rejected','quarantined'])[1 + i %% 10], '', p.id, pg_current_xact_id()::text::bigint, now() - i * interval '1 minute',
    now() - i * interval '30 seconds'
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: tools
INSERT INTO registry_tool (id, package_id, kind, export_name, wire_name, title, description,
    category, input_schema, output_schema, ai_agent, required_scopes, raw_string_args,
    scopes_added, scopes_dropped, timeout_governed, definition, timeout_seconds, version, quality, owner_id, team_id, visibility, review_status,
    unreviewed_versions, blocked_versions, deprecation_note, stopped_reason, import_health, execution_health,
    search_xid, created_at, updated_at)
SELECT md5('tool' || i)::uuid,
    CASE WHEN i %% 100 < %(requests)s THEN NULL
        ELSE md5('package' || (1 + i %% %(packages)s))::uuid END,
    CASE WHEN i %% 100 < %(sequences)s THEN 'sequence'
    WHEN i %% 100 < %(requests)s THEN 'api' ELSE 'npm' END, 'tool' || i, 'scale_tool_' || i, initcap(pg_temp.words(i)) || ' ' || i,
    'This tool can ' || pg_temp.words(i) || ' for ' || pg_temp.setting(i)
        || '. It takes a text and a limit, and answers with a list.',
    (ARRAY['text','data','web','finance','images','other'])[1 + i %% 6], '{"type": "object", "required": ["text"], "properties": {
        "text": {"type": "string", "description": "What to work on."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100}}}', NULL, '{}',
    '{}', '{}',
    '{}', '{}', false,
    CASE WHEN i %% 100 < %(sequences)s THEN jsonb_build_object('format', 1, 'steps',
        jsonb_build_array(jsonb_build_object('stepNumber', 1, 'toolToRunId',
        md5('tool' || (1 + (i * 7 + 50) %% %(tools)s))::uuid, 'toolVersion', NULL, 'inputMapping',
        '{"text":{"source":"initialInput","key":"text"}}'::jsonb)))
        WHEN i %% 100 < %(requests)s THEN jsonb_build_object('method', 'GET', 'url',
        'http://localhost/items') END,
    30, CASE WHEN i %% 100 = 23 THEN 40 WHEN i %% 10 = 3 THEN 3 ELSE 1 END,
    round((.3 + .6 * random())::numeric, 2),
    CASE WHEN i %% 100 < %(requests)s THEN p.id END, NULL,
    CASE WHEN i %% 100 < %(requests)s AND i %% 3 = 0 THEN 'private' ELSE 'public' END,
    CASE WHEN i %% 50 = 1 THEN 'candidate' ELSE 'approved' END, '{}', '{}', '', '',
    CASE WHEN i %% 97 = 0 THEN 'broken' ELSE 'healthy' END,
    CASE WHEN i %% 89 = 0 THEN 'broken' WHEN i %% 83 = 0 THEN 'needs_key' ELSE 'healthy' END,
    pg_current_xact_id()::text::bigint, now() - i * interval '1 minute', now() - i * interval '30 seconds'
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: vectors
INSERT INTO registry_toolvector (tool_id, encoder, digest, vector, problem, due_at)
SELECT md5('tool' || i)::uuid, 'scale', decode(md5('text' || i), 'hex'),
    decode(string_agg(md5('vector' || i || '-' || n), '' ORDER BY n), 'hex'), '', NULL
FROM generate_series(%(first)s::int, %(last)s::int) AS i
CROSS JOIN LATERAL generate_series(1, 24) AS n
GROUP BY i

-- step: versions
INSERT INTO registry_toolversion (id, tool_id, number, digest, snapshot, reason, author_id,
    created_at)
SELECT md5('version' || i || CASE WHEN number > 1 THEN '-' || number ELSE '' END)::uuid, t.id,
    number, md5('version' || i || '-' || number) || md5(t.wire_name),
    jsonb_build_object('kind', t.kind, 'title', t.title, 'description', t.description, 'category',
    t.category, 'input_schema', t.input_schema, 'output_schema', NULL, 'ai_agent', '{}'::jsonb,
    'required_scopes', '[]'::jsonb, 'timeout_seconds', 30, 'export_name', t.export_name,
    'definition', t.definition, 'package', CASE WHEN t.package_id IS NOT NULL THEN
    jsonb_build_object('ecosystem', 'npm', 'name', '@scale/package-' || (1 + i %% %(packages)s),
    'version', '1.0.0', 'integrity', '', 'artifact', '', 'env', '[]'::jsonb) END),
    'Imported', NULL, t.created_at + number * interval '1 hour'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN registry_tool t ON t.id = md5('tool' || i)::uuid
CROSS JOIN LATERAL generate_series(1, t.version) AS number

-- step: agents
INSERT INTO agents_agent (id, slug, name, description, instructions, model, discovery_mode,
    max_found_tools, schema_budget, max_steps, approval_default, fallback_models, tool_protocol,
    code_execution, scopes, owner_id, visibility, created_at, updated_at)
SELECT md5('agent' || i)::uuid, 'scale-' || i, 'Scale agent ' || i, '', '', '', 'auto_filter', 5,
    8000, 8, 'allow', '{}', 'auto', false, '{}', p.id, 'private', now(), now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: links
INSERT INTO agents_agenttool (agent_id, tool_id, config, pinned_version, approval, name_override,
    description_override, created_at)
SELECT md5('agent' || (1 + i %% %(agents)s))::uuid, md5('tool' || pg_temp.linked(i, %(tools)s))::uuid,
    '{}', CASE WHEN i %% 9 = 0 THEN 1 END, 'rules', '', '', now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i
ON CONFLICT DO NOTHING

-- step: labelled queries
INSERT INTO agents_searchcase (id, agent_id, query, recent, created_by_id, created_at, updated_at)
SELECT md5('case' || i)::uuid, a.id,
    'Can you ' || pg_temp.words(i) || ' for ' || pg_temp.setting(i) || '?', '{}', a.owner_id,
    now() - i * interval '1 minute', now() - i * interval '1 minute'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN agents_agent a
    ON a.id = md5('agent' || CASE WHEN i <= %(cases)s THEN 2 ELSE i %% %(agents)s END)::uuid

-- step: expected tools
INSERT INTO agents_expectedtool (case_id, tool_id)
SELECT c.id, md5('tool' || (1 + (i - 1) %% %(tools)s))::uuid
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN agents_searchcase c ON c.id = md5('case' || i)::uuid

-- step: measurements
INSERT INTO agents_searchevaluation (id, agent_id, state, total, done, metrics, ranks, created_at,
    started_at, finished_at)
SELECT md5('measurement' || i)::uuid, CASE WHEN i %% 2 = 0 THEN md5('agent' || 2)::uuid END, 'done',
    %(cases)s, %(cases)s,
    jsonb_build_object('cases', %(cases)s, 'passed', %(cases)s - i %% 90,
        'queries', %(cases)s, 'no_answer_queries', 0, 'nDCG@5', .7, 'nDCG@10', .72,
        'recall@5', .8, 'recall@10', .85, 'MRR@10', .7, 'recall@5_above_floor', .78,
        'no_answer_accuracy', NULL, 'p50_ms', 2, 'p95_ms', 4),
    (SELECT jsonb_object_agg(md5('case' || n)::uuid, jsonb_build_object('passed', n %% 7 > 0,
        'place', 1 + n %% 5, 'score', .6, 'reason', '', 'found', jsonb_build_array('scale_tool_1')))
        FROM generate_series(1, %(cases)s) AS n),
    now() - i * interval '12 hours', now() - i * interval '12 hours',
    now() - i * interval '12 hours' + interval '5 seconds'
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: experiments
INSERT INTO agents_experiment (id, agent_id, name, state, share_b, planned, created_by_id,
    created_at, started_at, ended_at)
SELECT md5('experiment' || i)::uuid, a.id, 'Experiment ' || i,
    CASE WHEN i <= %(agents)s THEN 'running' ELSE 'ended' END, 50, 50, a.owner_id,
    now() - interval '180 days', now() - interval '180 days',
    CASE WHEN i > %(agents)s THEN now() - interval '1 day' END
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN agents_agent a ON a.id = md5('agent' || (1 + (i - 1) %% %(agents)s))::uuid

-- step: arms
INSERT INTO agents_arm (experiment_id, letter, discovery_mode)
SELECT md5('experiment' || i)::uuid, letter, 'auto'
FROM generate_series(%(first)s::int, %(last)s::int) AS i, unnest(ARRAY['A', 'B']) AS letter

-- step: arm tools
INSERT INTO agents_armtool (arm_id, tool_id, pinned_version)
SELECT arm.id, link.tool_id, NULL
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN agents_experiment e ON e.id = md5('experiment' || i)::uuid
JOIN agents_arm arm ON arm.experiment_id = e.id
JOIN agents_agenttool link ON link.agent_id = e.agent_id

-- step: conversations
INSERT INTO chat_conversation (id, user_id, agent_id, arm_id, title, asked_call, depth, created_at,
    updated_at)
SELECT md5('conversation' || i)::uuid, a.owner_id, a.id, arm.id, 'Conversation ' || i, '', 0,
    now() - i * interval '3 minutes', now() - i * interval '2 minutes'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN agents_agent a ON a.id = md5('agent' || pg_temp.agent_of(i, %(agents)s))::uuid
LEFT JOIN agents_experiment e ON e.agent_id = a.id AND e.state = 'running'
LEFT JOIN agents_arm arm
    ON arm.experiment_id = e.id AND arm.letter = CASE WHEN i / 10 %% 2 = 0 THEN 'A' ELSE 'B' END

-- step: turns
INSERT INTO chat_turn (id, conversation_id, number, parent_id, status, model, usage, cost,
    created_at, finished_at)
SELECT md5('turn' || i)::uuid, md5('conversation' || (1 + (i - 1) / 3))::uuid, 1 + (i - 1) %% 3,
    CASE WHEN (i - 1) %% 3 > 0 THEN md5('turn' || (i - 1))::uuid END,
    CASE WHEN i %% 23 = 0 THEN 'failed' ELSE 'completed' END,
    (ARRAY['demo/offline', 'large', 'small'])[1 + i %% 3],
    jsonb_build_object('input_tokens', 200 + i %% 900, 'output_tokens', 20 + i %% 200),
    (i %% 90) * .0001, now() - i * interval '1 minute' * .8,
    now() - i * interval '1 minute' * .8 + (i %% 9) * interval '1 second'
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: heads of conversations
UPDATE chat_conversation SET head_id = last.id
FROM (
    SELECT DISTINCT ON (conversation_id) id, conversation_id FROM chat_turn
    ORDER BY conversation_id, number DESC
) AS last
WHERE %(first)s = 1 AND last.conversation_id = chat_conversation.id

-- step: model sums
INSERT INTO agents_modelusage (hour, agent_id, model, turns, completed, failed, stopped,
    input_tokens, output_tokens, cached_tokens, cost, unpriced)
SELECT date_trunc('hour', t.finished_at, 'UTC'), c.agent_id, t.model, count(*),
    count(*) FILTER (WHERE t.status = 'completed'), count(*) FILTER (WHERE t.status = 'failed'), 0,
    sum((t.usage ->> 'input_tokens')::int), sum((t.usage ->> 'output_tokens')::int), 0,
    sum(t.cost), 0
FROM chat_turn t JOIN chat_conversation c ON c.id = t.conversation_id
WHERE %(first)s = 1
GROUP BY GROUPING SETS ((1, 2, 3), (1, 3))

-- step: drafts
-- The first 200 are of person 3 and were never published, the next is of their tool 2.
INSERT INTO sequences_sequencedraft (id, owner_id, tool_id, base_version, document, revision,
    position, published_position, created_at, updated_at, updated_by_id)
SELECT md5('draft' || i)::uuid, CASE WHEN i <= 200 THEN p.id ELSE t.owner_id END, t.id,
    coalesce(t.version, 0), jsonb_build_object('name', 'Draft ' || i, 'visibility', 'private',
    'schema', '{"type": "object", "properties": {"text": {"type": "string"}}}',
    'steps', (SELECT jsonb_agg(jsonb_build_object('key', 'step_' || n, 'kind', 'tool',
        'tool', md5('tool' || (1 + (i * 7 + n * 10) %% %(tools)s))::uuid,
        'store_as', 'answer' || n, 'rows', jsonb_build_array(jsonb_build_object('name', 'text',
        'source', 'initialInput', 'value', 'text')))) FROM generate_series(1, 12) AS n)),
    200, 200, CASE WHEN i <= 200 THEN 0 ELSE 190 END, now() - i * interval '1 hour',
    now() - i * interval '7 minutes', NULL
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-3'
LEFT JOIN registry_tool t
    ON i > 200 AND t.id = md5('tool' || CASE WHEN i = 201 THEN 2 ELSE 100 * (i - 201) END)::uuid
WHERE i <= 200 OR t.id IS NOT NULL

-- step: states of drafts
INSERT INTO sequences_draftrevision (draft_id, number, document, label, author_id, created_at)
SELECT d.id, number, d.document, 'Changed the name', NULL, d.created_at + number * interval '1 second'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN sequences_sequencedraft d ON d.id = md5('draft' || i)::uuid
CROSS JOIN LATERAL generate_series(CASE WHEN i IN (1, 201) THEN 1 ELSE 181 END, 200) AS number

-- step: outputs of drafts
INSERT INTO sequences_draftoutput (draft_id, step_key, digest, input, output, error, is_edited,
    run_id, updated_at)
SELECT d.id, 'step_' || n, md5('digest' || i), '{"text":"a"}', '["a"]', NULL, false, NULL, now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN sequences_sequencedraft d ON d.id = md5('draft' || i)::uuid
CROSS JOIN LATERAL generate_series(1, 12) AS n

-- step: inputs of drafts
INSERT INTO sequences_sampleinput (draft_id, name, input, created_at)
SELECT d.id, 'Input ' || n, '{"text":"a"}', now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN sequences_sequencedraft d ON d.id = md5('draft' || i)::uuid
CROSS JOIN LATERAL generate_series(1, 5) AS n

-- step: timetables
-- As many for tool 2 as person 3 may have, the others for the sequences of all.
INSERT INTO sequences_schedule (id, tool_id, owner_id, name, cron, timezone, input, enabled,
    next_at, last_at, created_at)
SELECT md5('timetable' || i)::uuid,
    md5('tool' || CASE WHEN i <= 50 THEN 2 ELSE 100 * (1 + i %% (%(tools)s / 100)) END)::uuid, p.id,
    'Timetable ' || i, '*/5 * * * *', 'Europe/Vienna', '{"text":"a"}', i %% 50 > 0,
    CASE WHEN i %% 50 > 0 THEN now() + (i - 100) * interval '2 seconds' END,
    now() - interval '5 minutes', now() - i * interval '1 hour'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || CASE WHEN i <= 50 THEN 3 ELSE 1 + i %% %(people)s END

-- step: webhooks
INSERT INTO sequences_webhook (id, tool_id, owner_id, name, signing, secret, secret_set_at,
    enabled, last_at, created_at)
SELECT md5('webhook' || i)::uuid,
    md5('tool' || CASE WHEN i <= 50 THEN 2 ELSE 100 * (1 + i %% (%(tools)s / 100)) END)::uuid, p.id,
    'Webhook ' || i, 'standard', %(sealed)s, now(), true, now(), now() - i * interval '1 hour'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || CASE WHEN i <= 50 THEN 3 ELSE 1 + i %% %(people)s END

-- step: deliveries
INSERT INTO sequences_webhookdelivery (webhook_id, delivery_id, run_id, received_at)
SELECT md5('webhook' || (1 + i %% 200))::uuid, 'msg_' || i, md5('run' || i)::uuid,
    now() - i * interval '31 days' / %(runs)s
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: subscriptions
-- As many for person 3 as they may have, the others for all.
INSERT INTO registry_eventsubscription (id, owner_id, url, note, types, secret, secret_set_at,
    active, off_reason, created_at)
SELECT md5('subscription' || i)::uuid, p.id, 'https://example.com/' || i, 'Subscription ' || i,
    '{run.failed,tool.broken}', %(sealed)s, now(), true, '', now() - i * interval '1 hour'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || CASE WHEN i <= 20 THEN 3 ELSE 1 + i %% %(people)s END

-- step: event_deliveries
-- Of every thousand one waits and one failed.
INSERT INTO registry_eventdelivery (id, subscription_id, event_id, type, payload, status, tries,
    attempts, next_at, created_at, ended_at)
SELECT md5('event_delivery' || i)::uuid, md5('subscription' || (1 + i %% 40))::uuid, 'evt_' || i,
    'run.failed', '{"type":"run.failed","timestamp":"2026-01-01T00:00:00+00:00","data":{}}',
    CASE i %% 1000 WHEN 0 THEN 'waiting' WHEN 1 THEN 'failed' ELSE 'delivered' END, 1, '[]', now(),
    now() - i * interval '31 days' / %(runs)s,
    CASE WHEN i %% 1000 > 0 THEN now() - i * interval '31 days' / %(runs)s END
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: runs
-- Every fourth is of person 3, and half of those of their tool 2; some are tests of a draft, and
-- some are inside of the run four before.
INSERT INTO sequences_run (id, tool_id, tool_version_id, draft_id, definition, status, input,
    output, error, caller, user_id, call_id, schedule_id, webhook_id, parent_step_id, created_at,
    started_at, finished_at, worker, hand_over, claims)
SELECT md5('run' || i)::uuid,
    CASE WHEN NOT what.test THEN md5('tool' || s.n)::uuid END,
    CASE WHEN NOT what.test THEN md5('version' || s.n)::uuid END,
    CASE WHEN what.test THEN md5('draft1')::uuid END,
    CASE WHEN what.test THEN jsonb_build_object('format', 1, 'steps', jsonb_build_array(
        jsonb_build_object('stepNumber', 1, 'toolToRunId', md5('tool23')::uuid, 'inputMapping',
        '{"text":{"source":"initialInput","key":"text"}}'::jsonb))) END,
    state.told, '{"text":"a"}', '[]',
    CASE WHEN state.told = 'failed' THEN '{"code":"tool_failed","message":"It failed."}'::jsonb END,
    began.told, p.id, '', CASE WHEN began.told = 'schedule' THEN md5('timetable1')::uuid END,
    CASE WHEN began.told = 'webhook' THEN md5('webhook1')::uuid END,
    CASE WHEN what.nested THEN md5('step' || i - 4 || '-1')::uuid END,
    now() - i * interval '4 minutes', now() - i * interval '4 minutes',
    CASE WHEN state.told NOT IN ('waiting', 'attention')
        THEN now() - i * interval '4 minutes' + interval '2 seconds' END,
    'worker@scale', false, 1
FROM generate_series(%(first)s::int, %(last)s::int) AS i
CROSS JOIN LATERAL (SELECT i %% 50 = 6 AS test, i %% 20 = 14 AS nested) AS what
CROSS JOIN LATERAL (SELECT CASE WHEN i %% 8 = 2 THEN 2
    ELSE 100 * (1 + (i * 13) %% (%(tools)s / 100)) END AS n) s
CROSS JOIN LATERAL (SELECT CASE WHEN i %% 1000 IN (10, 11) THEN 'waiting'
    WHEN i %% 1000 IN (30, 31) THEN 'attention' WHEN i %% 19 = 0 THEN 'failed'
    WHEN i %% 101 = 0 THEN 'cancelled' ELSE 'succeeded' END AS told) state
CROSS JOIN LATERAL (SELECT CASE WHEN what.nested THEN 'sequence' WHEN what.test THEN 'browser'
    ELSE (ARRAY['schedule', 'browser', 'schedule', 'rest', 'schedule', 'chat', 'schedule',
    'webhook'])[1 + i / 8 %% 8] END AS told) began
JOIN auth_user p
    ON p.username = 'scale-' || CASE WHEN i %% 4 = 2 THEN 3 ELSE 1 + i %% %(people)s END

-- step: steps of runs
-- Two of each run; the second of every 4000th is repeated for a thousand items.
INSERT INTO sequences_runstep (id, run_id, number, iteration, key, title, tool_id, tool_name,
    tool_version, status, input, output, error, message, attempts, lease, started_at, duration_ms)
SELECT md5('step' || i || '-' || part.number || coalesce('-' || part.iteration, ''))::uuid, r.id,
    part.number, part.iteration, 'step_' || part.number, 'Step ' || part.number,
    md5('tool' || t.n)::uuid, 'scale_tool_' || t.n, 1,
    CASE WHEN part.number = 1 THEN 'succeeded' WHEN r.status = 'attention' THEN 'in_doubt'
        WHEN r.status IN ('waiting', 'failed') THEN r.status ELSE 'succeeded' END,
    '{"text":"a"}', '["a"]', CASE WHEN part.number = 2 AND r.status = 'failed'
        THEN '{"code":"tool_failed","message":"It failed."}'::jsonb END,
    'Done.', 1, NULL, r.created_at + part.number * interval '1 second', 900
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN sequences_run r ON r.id = md5('run' || i)::uuid
CROSS JOIN LATERAL (SELECT 1 + (i * 7 + 50) %% %(tools)s AS n) t
CROSS JOIN LATERAL (
    SELECT n AS number, NULL::int AS iteration FROM generate_series(1, 2) AS n
    UNION ALL SELECT 2, n FROM generate_series(0, 999) AS n WHERE i %% 4000 = 2
) part

-- step: questions of runs
INSERT INTO sequences_runrequest (id, run_id, step_id, title, message, asked_at, expires_at,
    approved, note, answered_at, answered_by_id)
SELECT md5('question' || i)::uuid, r.id, step.id, 'Go on?', 'Shall it be sent?', r.created_at,
    now() + i * interval '1 hour', CASE WHEN r.status <> 'waiting' THEN true END, '',
    CASE WHEN r.status <> 'waiting' THEN r.finished_at END,
    CASE WHEN r.status <> 'waiting' THEN r.user_id END
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN sequences_run r ON r.id = md5('run' || i)::uuid AND (r.status = 'waiting'
    OR r.status = 'succeeded' AND i %% 10 = 2)
JOIN sequences_runstep step ON step.id = md5('step' || i || '-2')::uuid

-- step: files of runs
INSERT INTO sequences_runartifact (id, run_id, step_id, name, version, media_type, size, digest,
    content, created_at)
SELECT md5('file' || i || '-' || n)::uuid, r.id, step.id, 'table.csv', n, 'text/csv', 3, md5('file'),
    'a,b', r.created_at
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN sequences_run r ON r.id = md5('run' || i)::uuid AND i %% 40 = 2
JOIN sequences_runstep step ON step.id = md5('step' || i || '-1')::uuid
CROSS JOIN LATERAL generate_series(1, 3) AS n

-- step: calls
INSERT INTO registry_invocation (id, tool_id, tool_version, caller, user_id, agent_id, turn_id,
    run_id, outcome, phase, error_code, error, arguments, output, duration_ms, decision, cost,
    created_at)
SELECT md5('call' || i)::uuid,
    md5('tool' || CASE WHEN chats.it AND i %% 5 > 0
        THEN pg_temp.linked(a.number - 1 + %(agents)s * floor(10 * r * r)::int, %(tools)s)
        ELSE least(%(tools)s, floor(power(%(tools)s, r)))::int END)::uuid, 1,
    (ARRAY['chat','chat','chat','sequence','browser','rest'])[1 + i %% 6], p.id,
    CASE WHEN chats.it THEN md5('agent' || a.number)::uuid END,
    CASE WHEN chats.it THEN md5('turn' || t.number)::uuid END,
    CASE WHEN i %% 6 = 3 THEN md5('run' || (1 + i %% %(runs)s))::uuid END,
    CASE WHEN i %% 14 = 0 THEN 'failed' ELSE 'succeeded' END,
    CASE WHEN i %% 140 = 0 THEN 'permission' ELSE 'execute' END,
    CASE WHEN i %% 140 = 0 THEN 'rate_limited' WHEN i %% 14 = 0
        THEN (ARRAY['tool_failed','tool_timeout','upstream_unavailable'])[1 + i %% 3] ELSE '' END,
    CASE WHEN i %% 14 = 0 THEN '{"code":"tool_failed","message":"It failed."}'::jsonb END,
    '{"text":"something"}', '"done"', (20 * power(40, r))::int,
    CASE WHEN i %% 140 = 0 THEN 'limited' ELSE 'allowed' END,
    CASE WHEN i %% 4 = 0 THEN .001 END,
    %(now)s - (%(invocations)s - i) * (interval '180 days' / %(invocations)s)
FROM generate_series(%(first)s::int, %(last)s::int) AS i
CROSS JOIN LATERAL (SELECT random() + 0 * i AS r) x
CROSS JOIN LATERAL (SELECT i %% 6 < 3 AS it) chats
CROSS JOIN LATERAL (SELECT 1 + i %% %(turns)s AS number) t
CROSS JOIN LATERAL (SELECT pg_temp.agent_of(1 + (t.number - 1) / 3, %(agents)s) AS number) a
JOIN auth_user p ON p.username = 'scale-' || CASE WHEN chats.it THEN 1 + a.number %% %(people)s
    WHEN i %% 10 = 3 THEN 3 ELSE 1 + i %% %(people)s END

-- step: scores due
INSERT INTO registry_qualitydue (tool_id, due_at)
SELECT md5('tool' || i)::uuid, now() + (i - 2000) * interval '1 second'
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: health
INSERT INTO registry_healthchange (tool_id, at, state, error_code)
SELECT md5('tool' || i)::uuid, now() - n * interval '20 days',
    CASE WHEN n %% 2 = 0 THEN 'execution_broken' ELSE 'healthy' END, ''
FROM generate_series(%(first)s::int, %(last)s::int) AS i
CROSS JOIN LATERAL generate_series(1, CASE WHEN i %% 100 = 23 THEN 200 ELSE 3 END) AS n

-- step: schedules
INSERT INTO registry_checkschedule (package_id, next_at, last_at, failures)
SELECT md5('package' || i)::uuid,
    CASE WHEN i %% 50 > 0 THEN now() + (i - 100) * interval '2 seconds' END, now(), 0
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: decided
INSERT INTO registry_proposal (id, package_id, cause, state, digest, before, after, versions,
    removed, findings, opened_by_id, opened_at, decided_by_id, decided_at, decision_reason)
SELECT md5('decided' || i)::uuid, md5('package' || (1 + i %% %(packages)s))::uuid,
    (ARRAY['import', 'sync', 'check'])[1 + i %% 3],
    (ARRAY['approved', 'approved', 'rejected', 'superseded', 'quarantined'])[1 + i %% 5],
    md5('decided' || i) || md5('digest'), '{"version": "1.0.0"}', '{"version": "1.1.0"}',
    '[]', '[]', '[]', p.id, now() - i * interval '10 minutes' - interval '1 day', p.id,
    now() - i * interval '10 minutes', 'Looked at.'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: proposals
INSERT INTO registry_proposal (id, package_id, cause, state, digest, before, after, versions,
    removed, findings, opened_by_id, opened_at, decision_reason)
SELECT md5('proposal' || i)::uuid, md5('package' || i)::uuid,
    (ARRAY['import', 'sync', 'check'])[1 + i %% 3], 'open', md5('proposal' || i) || md5('digest'),
    '{"version": "1.0.0"}', jsonb_build_object('version', '1.1.0', 'integrity', '', 'artifact', '',
        'description', 'Tools.', 'category', 'text', 'env', '[]'::jsonb, 'settings', '{}'::jsonb),
    (SELECT coalesce(jsonb_agg(jsonb_build_object('tool', t.id, 'export', t.export_name,
        'number', t.version, 'live', NULL)), '[]')
        FROM registry_tool t WHERE t.package_id = md5('package' || i)::uuid),
    '[]', CASE WHEN i %% 5 = 0 THEN '[{"code": "install_script", "path": "scripts.install",
        "message": "It runs a script.", "severity": "block", "introduced": true}]'::jsonb
        ELSE '[]' END, p.id, now() - i * interval '10 minutes', ''
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: imports
INSERT INTO registry_importjob (id, ecosystem, name, version, settings, cause, status, stage,
    report, package_id, requested_by_id, created_at, started_at, finished_at)
SELECT md5('job' || i)::uuid, 'npm', '@scale/package-' || (1 + i %% %(packages)s), '1.0.0', '{}',
    CASE WHEN i %% 2 = 0 THEN 'sync' ELSE 'import' END,
    CASE WHEN i %% 11 = 0 THEN 'failed' ELSE 'succeeded' END, '', '[]',
    md5('package' || (1 + i %% %(packages)s))::uuid, p.id, now() - i * interval '9 minutes',
    now() - i * interval '9 minutes', now() - i * interval '8 minutes'
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)

-- step: feeds
INSERT INTO registry_syncfeed (id, kind, keyword, enabled, every_minutes, most_per_run, asked,
    checkpoint, next_at, last_at)
SELECT md5('feed' || i)::uuid, 'keyword', 'scale-' || i, false, 60, 50, false, '{}', now(), now()
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: looks
INSERT INTO registry_syncrun (id, feed_id, started_at, finished_at, found, new, changed, unchanged,
    failed, left_over)
SELECT md5('look' || i)::uuid, md5('feed' || (1 + i %% %(feeds)s))::uuid,
    now() - i * interval '1 hour', now() - i * interval '59 minutes', 500, 20, 30, 450, 0, 0
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: entries
INSERT INTO registry_syncentry (id, run_id, ecosystem, name, version, previous, integrity, state,
    message, job_id, created_at)
SELECT md5('entry' || i)::uuid, md5('look' || (1 + i %% %(looks)s))::uuid, 'npm',
    '@scale/package-' || i, '1.1.0', '1.0.0', '',
    CASE WHEN i <= 1000 THEN 'waiting' WHEN i %% 7 = 0 THEN 'skipped' ELSE 'noted' END, '', NULL,
    now() - i * interval '1 minute'
FROM generate_series(%(first)s::int, %(last)s::int) AS i

-- step: events
INSERT INTO registry_auditevent (at, actor_id, actor_name, source, request_id, method, path, model,
    object_id, object_label, subject_model, subject_id, operation, before, after, reason)
SELECT %(now)s - (%(events)s - i) * (interval '180 days' / %(events)s),
    CASE WHEN i %% 20 > 0 THEN p.id END, CASE WHEN i %% 20 > 0 THEN p.username ELSE '' END,
    CASE WHEN i %% 20 = 0 THEN 'worker'
        ELSE (ARRAY['browser', 'browser', 'rest', 'admin', 'browser'])[1 + i %% 5] END,
    md5('request' || i / 3), 'POST', '/tools/', told.model, told.id, told.label,
    told.subject_model, told.subject,
    (ARRAY['update', 'update', 'update', 'insert', 'update', 'update', 'delete'])[1 + i %% 7],
    '{"description": "Before."}', '{"description": "After."}', ''
FROM generate_series(%(first)s::int, %(last)s::int) AS i
JOIN auth_user p ON p.username = 'scale-' || (1 + i %% %(people)s)
CROSS JOIN LATERAL (
    SELECT md5('tool' || (1 + i %% %(tools)s))::uuid::text AS tool,
        md5('package' || (1 + i %% %(packages)s))::uuid::text AS package,
        md5('agent' || (1 + i %% %(agents)s))::uuid::text AS agent
) id
CROSS JOIN LATERAL (
    SELECT 'registry.tool' AS model, id.tool AS id, 'scale_tool' AS label,
        'registry.tool' AS subject_model, id.tool AS subject WHERE i %% 10 < 5
    UNION ALL SELECT 'registry.package', id.package, 'npm:@scale/package', 'registry.package',
        id.package WHERE i %% 10 BETWEEN 5 AND 6
    UNION ALL SELECT 'agents.agenttool', i::text, 'agent → tool', 'agents.agent', id.agent
        WHERE i %% 10 BETWEEN 7 AND 8
    UNION ALL SELECT 'auth.membership', i::text, p.username || ' in owner', 'auth.user',
        p.id::text WHERE i %% 10 = 9
) told
