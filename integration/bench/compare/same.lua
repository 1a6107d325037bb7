-- Sends the same request every time.
-- Arguments: NAME=VALUE sets a header; body=N sends N bytes with POST.
function init(args)
  for _, argument in ipairs(args) do
    local name, value = argument:match("^([^=]+)=(.*)$")
    if name == "body" then
      wrk.method = "POST"
      wrk.body = string.rep("x", tonumber(value))
    elseif name then
      wrk.headers[name] = value
    end
  end
end
