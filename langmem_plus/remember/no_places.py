"""What isn't a place to live in although one moves to it: a tool, a department, a day, the floor above.

"We moved to York" and "We moved to Slack" are built alike, and only the name tells them apart. Without a list of all
places, what is known to be none is left out, and what is spelled as places aren't: a doubt retires no home.
"""

from __future__ import annotations

import re

_DAYS = """
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays
january february march april june july august september october november december q1 q2 q3 q4
"""
_TOOLS = """
slack teams zoom discord telegram whatsapp signal skype linux ubuntu debian fedora arch windows mac macos ios android
chrome firefox safari edge brave opera aws azure gcp google gmail outlook microsoft office excel word sharepoint notion
obsidian evernote onenote jira trello asana linear monday clickup basecamp confluence figma sketch canva adobe github
gitlab bitbucket git jenkins circleci docker kubernetes terraform ansible helm nomad heroku vercel netlify render fly
cloudflare digitalocean hetzner supabase firebase postgres postgresql mysql mariadb sqlite mongo mongodb redis kafka
rabbitmq elasticsearch opensearch snowflake databricks bigquery redshift dbt airflow spark python java kotlin scala
rust golang go ruby rails php laravel django flask node deno bun typescript javascript react vue angular svelte next
nuxt astro remix tailwind bootstrap vim neovim emacs vscode cursor intellij pycharm claude openai gemini copilot
chatgpt llama langchain langgraph shopify wordpress drupal magento stripe paypal salesforce hubspot zendesk intercom
netflix spotify tidal disney youtube facebook instagram twitter mastodon bluesky tiktok linkedin medium substack reddit
apple amazon tesla samsung meta oracle deloitte siemens bosch uber airbnb verizon vodafone agile scrum kanban waterfall
graphql rest grpc oauth json yaml markdown
english german french spanish chinese coda airtable miro webflow framer datadog grafana prometheus sentry splunk
"""
_AT_WORK = """
engineering sales marketing finance accounting operations product design research support legal procurement logistics
management consulting hr qa it devops security data analytics plan phase team level chapter page step stage building
block room office floor hall lab desk gate platform row seat tier version release section unit ward wing remote hybrid
full-time part-time freelance first second third next senior junior lead director manager
"""
_CHINESE = re.compile(
    r"^(?:楼[上下]|隔壁|阁楼|新?家里?|一起|这里|那里|外面|里面|客厅|卧室|厨房|地下室|车库|仓库)|办公|公司|会议|服务器|平台"
)
_NO_PLACES = frozenset((*_DAYS.split(), *_TOOLS.split(), *_AT_WORK.split()))
# Spelled as tools and their versions are: "GitHub", "S3", "CI".
_INNER_CAPITAL = re.compile(r"^(?!(?:Mc|Mac|De|Di|Du|La|Le|O)[A-Z])\w*[a-z][A-Z]|\d")
_INITIALS = re.compile(r"^[A-Z]{2,}$")
_PLACES_BY_INITIALS = """
LA NYC NY DC UK US USA UAE SF HK NZ KL PEI BC AB ON QC NSW WA VIC QLD AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY
ME MD MA MI MN MS MO MT NE NV NH NJ NM NC ND OH OK OR PA RI SC SD TN TX UT VT VA WV WI WY CDMX NRW
"""
_PLACES = frozenset(_PLACES_BY_INITIALS.split())


def is_no_place(value: str) -> bool:
    """Whether what somebody moved to, or lives in, is no home.

    >>> is_no_place("Slack"), is_no_place("GitHub Actions"), is_no_place("HR"), is_no_place("York")
    (True, True, True, False)
    """
    first, last = value.split()[0], value.split()[-1]
    if first.casefold() in _NO_PLACES or (last != first and last.casefold() in _NO_PLACES):
        return True
    initials = bool(_INITIALS.match(first)) and first not in _PLACES
    return initials or bool(_INNER_CAPITAL.search(first) or _CHINESE.search(value))
